// The kernels of total variation clustering: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "coterie/total_variation/vertex_moves.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

// A graph as Python hands it over; keeps the arrays alive.
template <class T>
struct BlockedGraphArrays {
    In1<Index> starts, crossings;
    In1<std::int32_t> columns;
    std::optional<In1<T>> weights;
    Index block_rows;

    BlockedGraph<T> view() const {
        return {starts.data(), crossings.data(), columns.data(), data_or_null(weights),
                static_cast<Index>(crossings.shape(0)), block_rows};
    }
    Index n_edges() const { return static_cast<Index>(columns.shape(0)); }
};

template <class T>
BlockedGraphArrays<T> blocked_graph(In1<Index> starts, In1<Index> crossings, In1<std::int32_t> columns,
                                    std::optional<In1<T>> weights, Index block_rows) {
    const Index n = static_cast<Index>(crossings.shape(0));
    require(n >= 1 && block_rows >= 1, "rows and block_rows must be positive");
    require_size(starts, n + 1, "starts has the wrong length");
    require(starts.data()[0] == 0, "starts does not begin with 0");
    require_size(columns, starts.data()[n], "starts and columns do not belong together");
    if (weights) require_size(*weights, starts.data()[n], "one weight per edge is needed");
    for (Index i = 0; i < n; ++i) {
        const Index begin = starts.data()[i], middle = crossings.data()[i], end = starts.data()[i + 1];
        require(begin <= middle && middle <= end, "starts and crossings do not ascend");
        const Index block = i / block_rows;
        bool earlier = false;
        for (Index e = begin; e < end; ++e) {
            const Index j = columns.data()[e];
            require(j >= 0 && j < n, "a column is out of range");
            require(e < middle ? j > i && j / block_rows == block : j / block_rows != block,
                    "an edge is on the wrong side of the crossings");
            require(!(earlier && j > i), "later rows do not come first");
            earlier = j < i;
        }
    }
    return {starts, crossings, columns, weights, block_rows};
}

template <class Array>
void require_rows(const Array& array, Index n, Index width, const char* what) {
    require_size(array, n * width, what);
    require_aligned(array, "an array is not aligned to cache lines");
}

template <class T>
double iterate_primal_dual(const BlockedGraphArrays<T>& arrays, Out2<T> duals, Out2<T> memberships,
                           Out2<T> extrapolated, Out2<T> spare, In2<T> anchors, In1<std::uint8_t> fixed,
                           In1<T> row_steps, In2<T> outer, bool steps_by_weight, double tau, double convexity,
                           Index n_iterations, Out1<double> squares, int n_threads,
                           std::optional<In1<T>> row_weights) {
    const BlockedGraph<T> graph = arrays.view();
    const Index n = graph.n_rows, n_columns = static_cast<Index>(duals.shape(1)),
                width = ceil_div(n_columns, kLanes<T>) * kLanes<T>;
    require(n_columns >= 1, "duals has no columns");
    require_size(duals, arrays.n_edges() * n_columns, "duals has the wrong shape");
    require_rows(memberships, n, width, "memberships has the wrong shape");
    require_rows(extrapolated, n, width, "extrapolated has the wrong shape");
    require_rows(spare, n, width, "spare has the wrong shape");
    require_rows(anchors, n, width, "anchors has the wrong shape");
    require_size(fixed, n, "fixed has the wrong length");
    require_size(row_steps, n, "row_steps has the wrong length");
    if (row_weights) require_size(*row_weights, n, "row_weights has the wrong length");
    require_rows(outer, 6, width, "outer has the wrong shape");
    require(tau > 0, "tau must be positive");
    require_size(squares, graph.n_blocks(), "one square per block is needed");
    const PrimalDualState<T> state{n_columns,    width,          duals.data(), memberships.data(), extrapolated.data(),
                                   spare.data(), anchors.data(), fixed.data(), row_steps.data(),
                                   data_or_null(row_weights)};
    const T* const rows = outer.data();
    const OuterStep<T> step{rows,             rows + width,     rows + 2 * width,
                            rows + 3 * width, rows + 4 * width, rows + 5 * width,
                            steps_by_weight};
    return kernels().of<T>().iterate_primal_dual(graph, state, step, tau, convexity, n_iterations, squares.data(),
                                                 n_threads);
}

template <class T>
void column_statistics(const BlockedGraphArrays<T>& arrays, In2<T> memberships, In1<Index> ranks, Out1<T> medians,
                       Out2<double> sums, Out2<Index> counts, int n_threads) {
    const BlockedGraph<T> graph = arrays.view();
    const Index n = graph.n_rows, n_columns = static_cast<Index>(medians.shape(0)),
                width = static_cast<Index>(memberships.shape(1));
    require(n_columns >= 1 && width == ceil_div(n_columns, kLanes<T>) * kLanes<T>, "the width does not fit");
    require_rows(memberships, n, width, "memberships has the wrong shape");
    require_size(ranks, n_columns, "one rank per column is needed");
    require_between(ranks, 0, n, "the rank is out of range");
    require_size(sums, 3 * n_columns, "three sums per column are needed");
    require_size(counts, 2 * n_columns, "two counts per column are needed");
    double* const s = sums.data();
    Index* const c = counts.data();
    const ColumnStatistics<T> out{medians.data(), s, s + n_columns, c, c + n_columns, s + 2 * n_columns};
    kernels().of<T>().column_statistics(graph, memberships.data(), n_columns, width, ranks.data(), out, n_threads);
}

template <class T>
void bind_total_variation_of(nb::module_& m, const char* name, const char* maker) {
    nb::class_<BlockedGraphArrays<T>>(m, name).def_prop_ro("n_edges", &BlockedGraphArrays<T>::n_edges);
    m.def(maker, &blocked_graph<T>, arg("starts").noconvert(), arg("crossings").noconvert(),
          arg("columns").noconvert(), arg("weights").none(), arg("block_rows"));
    m.def("iterate_primal_dual", &iterate_primal_dual<T>, arg("graph"), arg("duals").noconvert(),
          arg("memberships").noconvert(), arg("extrapolated").noconvert(), arg("spare").noconvert(),
          arg("anchors").noconvert(), arg("fixed"), arg("row_steps").noconvert(), arg("outer").noconvert(),
          arg("steps_by_weight"), arg("tau"), arg("convexity"), arg("n_iterations"), arg("squares"), arg("n_threads"),
          arg("row_weights").none() = nb::none(), Unlocked());
    m.def("column_statistics", &column_statistics<T>, arg("graph"), arg("memberships").noconvert(), arg("ranks"),
          arg("medians").noconvert(), arg("sums"), arg("counts"), arg("n_threads"), Unlocked());
}

Index move_vertices_of_graph(In1<Index> starts, In1<std::int32_t> columns, std::optional<In1<double>> weights,
                             std::optional<In1<double>> sizes, In1<std::uint8_t> fixed, In1<double> asymmetries,
                             double least, double most, Out1<std::int32_t> clusters) {
    const Index n = static_cast<Index>(clusters.shape(0)), n_clusters = static_cast<Index>(asymmetries.shape(0));
    require_size(starts, n + 1, "starts has the wrong length");
    require_starts(starts);
    require_size(columns, starts.data()[n], "starts and columns do not belong together");
    require_between(columns, 0, n, "a column is out of range");
    if (weights) require_size(*weights, starts.data()[n], "one weight per edge is needed");
    if (sizes) require_size(*sizes, n, "one size per vertex is needed");
    require_size(fixed, n, "fixed has the wrong length");
    require_between(clusters, 0, n_clusters, "a cluster is out of range");
    const CutVertices vertices{starts.data(), columns.data(),     data_or_null(weights), data_or_null(sizes),
                                  fixed.data(),  asymmetries.data(), n,                     n_clusters,
                                  least,         most};
    return move_vertices(vertices, clusters.data());
}

}  // namespace

void bind_total_variation(nb::module_& m) {
    bind_total_variation_of<float>(m, "BlockedGraphFloat32", "blocked_graph_float32");
    bind_total_variation_of<double>(m, "BlockedGraphFloat64", "blocked_graph_float64");
    m.def("move_vertices", &move_vertices_of_graph, arg("starts").noconvert(), arg("columns").noconvert(),
          arg("weights").noconvert().none(), arg("sizes").none(), arg("fixed"), arg("asymmetries"),
          arg("least"), arg("most"), arg("clusters").noconvert(), Unlocked());
}

}  // namespace coterie
