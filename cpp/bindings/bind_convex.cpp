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

    Index n_nodes() const { return static_cast<Index>(head_starts.shape(0)) - 1; }
    Index n_edges() const { return static_cast<Index>(heads.shape(0)); }
    Index n_groups() const { return static_cast<Index>(group_starts.shape(0)) - 1; }
    Index n_columns() const { return group_starts.data()[n_groups()]; }
    Index n_tasks() const { return ceil_div(n_edges(), edges_per_task(n_columns())); }
    FusionEdges<T> edges() const {
        return {heads.data(),       tails.data(),       weights.data(),    steps.data(), head_starts.data(),
                tail_starts.data(), tail_edges.data(), n_edges(), n_nodes()};
    }
    FusionNorm norm() const { return {group_starts.data(), n_groups(), n_columns(), is_maximum}; }
};

void require_runs(const In1<Index>& starts, Index total, const char* what) {
    const Index n = static_cast<Index>(starts.shape(0)) - 1;
    require(n >= 1 && starts.data()[0] == 0 && starts.data()[n] == total, what);
    for (Index i = 0; i < n; ++i) require(starts.data()[i] <= starts.data()[i + 1], what);
}

template <class T>
FusionBlock<T> fusion_edges(In1<std::int32_t> heads, In1<std::int32_t> tails, In1<T> weights, In1<T> steps,
                            In1<Index> head_starts, In1<Index> tail_starts, In1<std::int32_t> tail_edges,
                            In1<Index> group_starts, bool is_maximum) {
    const FusionBlock<T> block{heads,       tails,      weights,      steps,     head_starts,
                               tail_starts, tail_edges, group_starts, is_maximum};
    const Index n_edges = block.n_edges();
    require_size(tails, n_edges, "one tail per edge is needed");
    require_size(weights, n_edges, "one weight per edge is needed");
    require_size(steps, n_edges, "one step per edge is needed");
    require_size(tail_edges, n_edges, "one entry of tail_edges per edge is needed");
    require_runs(head_starts, n_edges, "head_starts is wrong");
    require_runs(tail_starts, n_edges, "tail_starts is wrong");
    require_size(tail_starts, block.n_nodes() + 1, "tail_starts has the wrong length");
    require(group_starts.shape(0) >= 2 && group_starts.data()[0] == 0, "group_starts is wrong");
    for (Index g = 0; g < block.n_groups(); ++g)
        require(group_starts.data()[g] < group_starts.data()[g + 1], "a group is empty");
    require(!is_maximum || block.n_groups() == 1, "the maximum norm has one group");
    for (Index i = 0; i < block.n_nodes(); ++i)
        for (Index e = head_starts.data()[i]; e < head_starts.data()[i + 1]; ++e)
            require(heads.data()[e] == i && tails.data()[e] != i, "heads and head_starts do not belong together");
    require_between(tails, 0, block.n_nodes(), "a tail is out of range");
    require_between(tail_edges, 0, n_edges, "a tail edge is out of range");
    return block;
}

template <class T>
void dual_step(const FusionBlock<T>& block, T gamma, T momentum, In2<T> points, In2<T> duals, Out2<T> former,
               int n_threads) {
    require_size(points, block.n_nodes() * block.n_columns(), "points has the wrong shape");
    require_size(duals, block.n_edges() * block.n_columns(), "duals has the wrong shape");
    require_size(former, block.n_edges() * block.n_columns(), "former has the wrong shape");
    kernels().of<T>().dual_step(block.edges(), block.norm(),
                                {gamma, momentum, points.data(), duals.data(), former.data()}, n_threads);
}

template <class T>
void primal_points(const FusionBlock<T>& block, T momentum, In2<T> rows, In2<T> duals, In2<T> current, Out2<T> next,
                   Out2<T> ahead, Out1<double> squares, int n_threads) {
    const Index size = block.n_nodes() * block.n_columns();
    require_size(rows, size, "rows has the wrong shape");
    require_size(duals, block.n_edges() * block.n_columns(), "duals has the wrong shape");
    require_size(current, size, "current has the wrong shape");
    require_size(next, size, "next has the wrong shape");
    require_size(ahead, size, "ahead has the wrong shape");
    require_size(squares, ceil_div(block.n_nodes(), kQuantum), "one sum per run of rows is needed");
    kernels().of<T>().primal_points(block.edges(), {rows.data(), current.data(), next.data(), ahead.data(), momentum},
                                    duals.data(), block.n_columns(), squares.data(), n_threads);
}

template <class T>
void dual_ascent(const FusionBlock<T>& block, T gamma, T momentum, T next_momentum, In2<T> duals, Out2<T> former,
                 In2<T> current, Out2<T> ahead, Out2<T> next, Out1<double> squares, int n_threads) {
    const Index size = block.n_nodes() * block.n_columns();
    require_size(duals, block.n_edges() * block.n_columns(), "duals has the wrong shape");
    require_size(former, block.n_edges() * block.n_columns(), "former has the wrong shape");
    require_size(current, size, "current has the wrong shape");
    require_size(ahead, size, "ahead has the wrong shape");
    require_size(next, size, "next has the wrong shape");
    require_size(squares, ceil_div(block.n_nodes(), kQuantum), "one sum per run of rows is needed");
    require(block.n_groups() == 1 && !block.is_maximum, "the norm must be Euclidean");
    kernels().of<T>().dual_ascent(block.edges(), {gamma, momentum, nullptr, duals.data(), former.data()},
                                  {nullptr, current.data(), next.data(), ahead.data(), next_momentum},
                                  block.n_columns(), squares.data(), n_threads);
}

template <class T>
void dual_sweep(const FusionBlock<T>& block, In1<Index> starts, In1<Index> reaches, In1<Index> offsets, T gamma,
                T momentum, T next_momentum, In2<T> rows, In2<T> duals, Out2<T> former, In2<T> current, Out2<T> next,
                Out2<T> ahead, Out2<T> sums, Out1<double> squares, int n_threads) {
    const Index size = block.n_nodes() * block.n_columns(), n_windows = static_cast<Index>(reaches.shape(0));
    require_size(duals, block.n_edges() * block.n_columns(), "duals has the wrong shape");
    require_size(former, block.n_edges() * block.n_columns(), "former has the wrong shape");
    require_size(rows, size, "rows has the wrong shape");
    require_size(current, size, "current has the wrong shape");
    require_size(next, size, "next has the wrong shape");
    require_size(ahead, size, "ahead has the wrong shape");
    require_size(squares, ceil_div(block.n_nodes(), kQuantum), "one sum per run of rows is needed");
    require_size(offsets, n_windows, "one offset per window is needed");
    require_size(starts, n_windows + 1, "starts has the wrong length");
    require_runs(starts, block.n_nodes(), "the windows' starts are wrong");
    Index n_rows = 0;
    for (Index w = 0; w < n_windows; ++w) {
        require(offsets.data()[w] == n_rows, "the windows' offsets are wrong");
        require(reaches.data()[w] >= starts.data()[w + 1] && reaches.data()[w] <= block.n_nodes(), "a reach is wrong");
        n_rows += reaches.data()[w] - starts.data()[w];
    }
    require_size(sums, n_rows * block.n_columns(), "sums has the wrong shape");
    const DualStep<T> step{gamma, momentum, ahead.data(), duals.data(), former.data()};
    const PrimalPoints<T> points{rows.data(), current.data(), next.data(), ahead.data(), next_momentum};
    kernels().of<T>().dual_sweep(block.edges(), block.norm(),
                                 {starts.data(), reaches.data(), offsets.data(), n_windows}, step, points,
                                 sums.data(), squares.data(), n_threads);
}

template <class T>
void fusion_penalty(const FusionBlock<T>& block, T gamma, In2<T> points, std::optional<In2<T>> duals, Out2<double> sums,
                    int n_threads) {
    require_size(points, block.n_nodes() * block.n_columns(), "points has the wrong shape");
    if (duals) require_size(*duals, block.n_edges() * block.n_columns(), "duals has the wrong shape");
    require_size(sums, block.n_tasks() * (block.n_groups() + 1), "sums has the wrong shape");
    kernels().of<T>().fusion_penalty(block.edges(), block.norm(), gamma, points.data(), data_or_null(duals),
                                     sums.data(), n_threads);
}

template <class T>
void split_lengths(const FusionBlock<T>& block, T gamma, In2<T> points, In2<T> duals, Out2<T> lengths, int n_threads) {
    require_size(points, block.n_nodes() * block.n_columns(), "points has the wrong shape");
    require_size(duals, block.n_edges() * block.n_columns(), "duals has the wrong shape");
    require_size(lengths, block.n_edges() * block.n_groups(), "lengths has the wrong shape");
    kernels().of<T>().split_lengths(block.edges(), block.norm(), gamma, points.data(), duals.data(), lengths.data(),
                                    n_threads);
}

template <class T>
void bind_convex_of(nb::module_& m, const char* name) {
    nb::class_<FusionBlock<T>>(m, name).def_prop_ro("n_tasks", &FusionBlock<T>::n_tasks);
    m.def("fusion_edges", &fusion_edges<T>, arg("heads"), arg("tails"), arg("weights").noconvert(),
          arg("steps").noconvert(), arg("head_starts"), arg("tail_starts"), arg("tail_edges"), arg("group_starts"),
          arg("is_maximum"));
    m.def("dual_step", &dual_step<T>, arg("edges"), arg("gamma"), arg("momentum"), arg("points").noconvert(),
          arg("duals").noconvert(), arg("former").noconvert(), arg("n_threads"), Unlocked());
    m.def("primal_points", &primal_points<T>, arg("edges"), arg("momentum"), arg("rows").noconvert(),
          arg("duals").noconvert(), arg("current").noconvert(), arg("next").noconvert(), arg("ahead").noconvert(),
          arg("squares"), arg("n_threads"), Unlocked());
    m.def("dual_ascent", &dual_ascent<T>, arg("edges"), arg("gamma"), arg("momentum"), arg("next_momentum"),
          arg("duals").noconvert(), arg("former").noconvert(), arg("current").noconvert(), arg("ahead").noconvert(),
          arg("next").noconvert(), arg("squares"), arg("n_threads"), Unlocked());
    m.def("dual_sweep", &dual_sweep<T>, arg("edges"), arg("starts"), arg("reaches"), arg("offsets"), arg("gamma"),
          arg("momentum"), arg("next_momentum"), arg("rows").noconvert(), arg("duals").noconvert(),
          arg("former").noconvert(), arg("current").noconvert(), arg("next").noconvert(), arg("ahead").noconvert(),
          arg("sums").noconvert(), arg("squares"), arg("n_threads"), Unlocked());
    m.def("fusion_penalty", &fusion_penalty<T>, arg("edges"), arg("gamma"), arg("points").noconvert(),
          arg("duals").none(), arg("sums"), arg("n_threads"), Unlocked());
    m.def("split_lengths", &split_lengths<T>, arg("edges"), arg("gamma"), arg("points").noconvert(),
          arg("duals").noconvert(), arg("lengths").noconvert(), arg("n_threads"), Unlocked());
}

// A tree as Python hands it over; keeps the arrays alive.
struct TreeArrays {
    In1<std::int32_t> parents;
    In1<double> sizes, weights;

    Index n_nodes() const { return static_cast<Index>(parents.size()); }
    WeightedTree view() const { return {parents.data(), sizes.data(), weights.data(), n_nodes()}; }
};

TreeArrays weighted_tree(In1<std::int32_t> parents, In1<double> sizes, In1<double> weights) {
    const Index n = static_cast<Index>(parents.size());
    require(n >= 1 && n <= std::numeric_limits<std::int32_t>::max() / 2, "no nodes, or too many");
    require_size(sizes, n, "one size per node is needed");
    require_size(weights, n, "one weight per node is needed");
    require(parents.data()[0] == 0, "node 0 is the root");
    for (Index i = 1; i < n; ++i)
        require(parents.data()[i] >= 0 && parents.data()[i] < i, "parents come before their children");
    for (Index i = 0; i < n; ++i)
        require(sizes.data()[i] > 0 && (i == 0 || weights.data()[i] > 0), "sizes and weights are positive");
    return {parents, sizes, weights};
}

void denoise_tree(const TreeArrays& tree, double gamma, In2<double> columns, Out2<std::uint8_t> fused,
                  Out2<double> values, std::optional<Out2<double>> flows, Out2<double> sums, int n_threads) {
    const Index p = static_cast<Index>(columns.shape(0)), size = p * tree.n_nodes();
    require_size(columns, size, "columns has the wrong shape");
    require_size(fused, size, "fused has the wrong shape");
    require_size(values, size, "values has the wrong shape");
    if (flows) require_size(*flows, size, "flows has the wrong shape");
    require_size(sums, 2 * p, "sums has the wrong shape");
    require(gamma >= 0, "gamma is negative");
    denoise_on_tree(tree.view(), gamma, columns.data(), p, fused.data(), values.data(), flows ? flows->data() : nullptr,
                    sums.data(), n_threads);
}

double last_gamma_of_tree(const TreeArrays& tree, In2<double> columns) {
    const Index p = static_cast<Index>(columns.shape(0));
    require_size(columns, p * tree.n_nodes(), "columns has the wrong shape");
    return last_gamma(tree.view(), columns.data(), p);
}

}  // namespace

void bind_convex(nb::module_& m) {
    nb::class_<TreeArrays>(m, "WeightedTree");
    m.def("weighted_tree", &weighted_tree, arg("parents"), arg("sizes"), arg("weights"));
    m.def("denoise_on_tree", &denoise_tree, arg("tree"), arg("gamma"), arg("columns"), arg("fused"), arg("values"),
          arg("flows").none(), arg("sums"), arg("n_threads"), Unlocked());
    m.def("last_gamma", &last_gamma_of_tree, arg("tree"), arg("columns"), Unlocked());
    bind_convex_of<float>(m, "FusionEdgesFloat32");
    bind_convex_of<double>(m, "FusionEdgesFloat64");
}

}  // namespace coterie
