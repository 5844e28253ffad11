// The kernels of convex clustering: argument checks, then the kernel without the interpreter's lock.
#include <limits>

#include "blocks.hpp"
#include "coterie/convex/tree_denoising.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

// Edges and norm as Python hands them over; keeps the arrays alive.
template <class T>
struct FusionBlock {
    In1<std::int32_t> heads, tails;
    In1<T> weights, steps;
    In1<Index> head_starts, tail_starts;
    In1<std::int32_t> tail_edges;
    In1<Index> group_starts;
    bool is_maximum;

    Index n_nodes() const { return head_starts.shape(0) - 1; }
    Index n_edges() const { return heads.shape(0); }
    Index n_groups() const { return group_starts.shape(0) - 1; }
    Index n_columns() const { return group_starts[n_groups()]; }
    Index n_tasks() const { return ceil_div(n_edges(), edges_per_task(n_columns())); }
    FusionEdges<T> edges() const {
        return {heads, tails, weights, steps, head_starts, tail_starts, tail_edges, n_edges(), n_nodes()};
    }
    FusionNorm norm() const { return {group_starts, n_groups(), n_columns(), is_maximum}; }
};

void require_runs(const In1<Index>& starts, Index total, const char* what) {
    const Index n = starts.shape(0) - 1;
    require(n >= 1 && starts[0] == 0 && starts[n] == total, what);
    for (Index i = 0; i < n; ++i) require(starts[i] <= starts[i + 1], what);
}

template <class T>
FusionBlock<T> fusion_edges(In1<std::int32_t> heads, In1<std::int32_t> tails, In1<T> weights, In1<T> steps,
                            In1<Index> head_starts, In1<Index> tail_starts, In1<std::int32_t> tail_edges,
                            In1<Index> group_starts, bool is_maximum) {
    const FusionBlock<T> block{heads,       tails,      weights,      steps,     head_starts,
                               tail_starts, tail_edges, group_starts, is_maximum};
    const Index n_edges = block.n_edges();
    require_size(n_edges, "one number per edge is needed", tails, weights, steps, tail_edges);
    require_runs(head_starts, n_edges, "head_starts is wrong");
    require_runs(tail_starts, n_edges, "tail_starts is wrong");
    require_size(block.n_nodes() + 1, "tail_starts has the wrong length", tail_starts);
    require(group_starts.shape(0) >= 2 && group_starts[0] == 0, "group_starts is wrong");
    for (Index g = 0; g < block.n_groups(); ++g) require(group_starts[g] < group_starts[g + 1], "a group is empty");
    require(!is_maximum || block.n_groups() == 1, "the maximum norm has one group");
    for (Index i = 0; i < block.n_nodes(); ++i)
        for (Index e = head_starts[i]; e < head_starts[i + 1]; ++e)
            require(heads[e] == i && tails[e] != i, "heads and head_starts do not belong together");
    require_between(0, block.n_nodes(), "a tail is out of range", tails);
    require_between(0, n_edges, "a tail edge is out of range", tail_edges);
    return block;
}

template <class T>
void dual_step(const FusionBlock<T>& block, T gamma, T momentum, In2<T> points, In2<T> duals, Out2<T> former,
               int n_threads) {
    require_size(block.n_nodes() * block.n_columns(), "points has the wrong shape", points);
    require_size(block.n_edges() * block.n_columns(), "an array has the wrong shape", duals, former);
    kernels().of<T>().dual_step(block.edges(), block.norm(), {gamma, momentum, points, duals, former}, n_threads);
}

template <class T>
void primal_points(const FusionBlock<T>& block, T momentum, In2<T> rows, In2<T> duals, In2<T> current, Out2<T> next,
                   Out2<T> ahead, Out1<double> squares, int n_threads) {
    const Index size = block.n_nodes() * block.n_columns();
    require_size(size, "an array has the wrong shape", rows, current, next, ahead);
    require_size(block.n_edges() * block.n_columns(), "duals has the wrong shape", duals);
    require_size(ceil_div(block.n_nodes(), kQuantum), "one sum per run of rows is needed", squares);
    kernels().of<T>().primal_points(block.edges(), {rows, current, next, ahead, momentum}, duals, block.n_columns(),
                                    squares, n_threads);
}

template <class T>
void dual_ascent(const FusionBlock<T>& block, T gamma, T momentum, T next_momentum, In2<T> duals, Out2<T> former,
                 In2<T> current, Out2<T> ahead, Out2<T> next, Out1<double> squares, int n_threads) {
    const Index size = block.n_nodes() * block.n_columns();
    require_size(block.n_edges() * block.n_columns(), "an array has the wrong shape", duals, former);
    require_size(size, "an array has the wrong shape", current, ahead, next);
    require_size(ceil_div(block.n_nodes(), kQuantum), "one sum per run of rows is needed", squares);
    require(block.n_groups() == 1 && !block.is_maximum, "the norm must be Euclidean");
    kernels().of<T>().dual_ascent(block.edges(), {gamma, momentum, nullptr, duals, former},
                                  {nullptr, current, next, ahead, next_momentum}, block.n_columns(), squares,
                                  n_threads);
}

template <class T>
void dual_sweep(const FusionBlock<T>& block, In1<Index> starts, In1<Index> reaches, In1<Index> offsets, T gamma,
                T momentum, T next_momentum, In2<T> rows, In2<T> duals, Out2<T> former, In2<T> current, Out2<T> next,
                Out2<T> ahead, Out2<T> sums, Out1<double> squares, int n_threads) {
    const Index size = block.n_nodes() * block.n_columns(), n_windows = reaches.shape(0);
    require_size(block.n_edges() * block.n_columns(), "an array has the wrong shape", duals, former);
    require_size(size, "an array has the wrong shape", rows, current, next, ahead);
    require_size(ceil_div(block.n_nodes(), kQuantum), "one sum per run of rows is needed", squares);
    require_size(n_windows, "one offset per window is needed", offsets);
    require_size(n_windows + 1, "starts has the wrong length", starts);
    require_runs(starts, block.n_nodes(), "the windows' starts are wrong");
    Index n_rows = 0;
    for (Index w = 0; w < n_windows; ++w) {
        require(offsets[w] == n_rows, "the windows' offsets are wrong");
        require(reaches[w] >= starts[w + 1] && reaches[w] <= block.n_nodes(), "a reach is wrong");
        n_rows += reaches[w] - starts[w];
    }
    require_size(n_rows * block.n_columns(), "sums has the wrong shape", sums);
    const DualStep<T> step{gamma, momentum, ahead, duals, former};
    const PrimalPoints<T> points{rows, current, next, ahead, next_momentum};
    kernels().of<T>().dual_sweep(block.edges(), block.norm(), {starts, reaches, offsets, n_windows}, step, points, sums,
                                 squares, n_threads);
}

template <class T>
void fusion_penalty(const FusionBlock<T>& block, T gamma, In2<T> points, std::optional<In2<T>> duals, Out2<double> sums,
                    int n_threads) {
    require_size(block.n_nodes() * block.n_columns(), "points has the wrong shape", points);
    require_size(block.n_edges() * block.n_columns(), "duals has the wrong shape", duals);
    require_size(block.n_tasks() * (block.n_groups() + 1), "sums has the wrong shape", sums);
    kernels().of<T>().fusion_penalty(block.edges(), block.norm(), gamma, points, data_or_null(duals), sums, n_threads);
}

template <class T>
void split_lengths(const FusionBlock<T>& block, T gamma, In2<T> points, In2<T> duals, Out2<T> lengths, int n_threads) {
    require_size(block.n_nodes() * block.n_columns(), "points has the wrong shape", points);
    require_size(block.n_edges() * block.n_columns(), "duals has the wrong shape", duals);
    require_size(block.n_edges() * block.n_groups(), "lengths has the wrong shape", lengths);
    kernels().of<T>().split_lengths(block.edges(), block.norm(), gamma, points, duals, lengths, n_threads);
}

template <class T>
void bind_convex_of(nb::module_& m, const char* name) {
    nb::class_<FusionBlock<T>>(m, name).def_prop_ro("n_tasks", &FusionBlock<T>::n_tasks);
    m.def("fusion_edges", &fusion_edges<T>);
    m.def("dual_step", &dual_step<T>, Unlocked());
    m.def("primal_points", &primal_points<T>, Unlocked());
    m.def("dual_ascent", &dual_ascent<T>, Unlocked());
    m.def("dual_sweep", &dual_sweep<T>, Unlocked());
    m.def("fusion_penalty", &fusion_penalty<T>, Unlocked());
    m.def("split_lengths", &split_lengths<T>, Unlocked());
}

// A tree as Python hands it over; keeps the arrays alive.
struct TreeArrays {
    In1<std::int32_t> parents;
    In1<double> sizes, weights;

    Index n_nodes() const { return parents.size(); }
    WeightedTree view() const { return {parents, sizes, weights, n_nodes()}; }
};

TreeArrays weighted_tree(In1<std::int32_t> parents, In1<double> sizes, In1<double> weights) {
    const Index n = parents.size();
    require(n >= 1 && n <= std::numeric_limits<std::int32_t>::max() / 2, "no nodes, or too many");
    require_size(n, "one number per node is needed", sizes, weights);
    require(parents[0] == 0, "node 0 is the root");
    for (Index i = 1; i < n; ++i) require(parents[i] >= 0 && parents[i] < i, "parents come before their children");
    for (Index i = 0; i < n; ++i) require(sizes[i] > 0 && (i == 0 || weights[i] > 0), "sizes and weights are positive");
    return {parents, sizes, weights};
}

void denoise_tree(const TreeArrays& tree, double gamma, In2<double> columns, Out2<std::uint8_t> fused,
                  Out2<double> values, std::optional<Out2<double>> flows, Out2<double> sums, int n_threads) {
    const Index p = columns.shape(0), size = p * tree.n_nodes();
    require_size(size, "an array has the wrong shape", columns, fused, values, flows);
    require_size(2 * p, "sums has the wrong shape", sums);
    require(gamma >= 0, "gamma is negative");
    denoise_on_tree(tree.view(), gamma, columns, p, fused, values, data_or_null(flows), sums, n_threads);
}

double last_gamma_of_tree(const TreeArrays& tree, In2<double> columns) {
    const Index p = columns.shape(0);
    require_size(p * tree.n_nodes(), "columns has the wrong shape", columns);
    return last_gamma(tree.view(), columns, p);
}

}  // namespace

void bind_convex(nb::module_& m) {
    nb::class_<TreeArrays>(m, "WeightedTree");
    m.def("weighted_tree", &weighted_tree);
    m.def("denoise_on_tree", &denoise_tree, Unlocked());
    m.def("last_gamma", &last_gamma_of_tree, Unlocked());
    bind_convex_of<float>(m, "FusionEdgesFloat32");
    bind_convex_of<double>(m, "FusionEdgesFloat64");
}

}  // namespace coterie
