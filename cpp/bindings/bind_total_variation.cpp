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
        return {starts, crossings, columns, data_or_null(weights), crossings.shape(0), block_rows};
    }
    Index n_edges() const { return columns.shape(0); }
};

template <class T>
BlockedGraphArrays<T> blocked_graph(In1<Index> starts, In1<Index> crossings, In1<std::int32_t> columns,
                                    std::optional<In1<T>> weights, Index block_rows) {
    const Index n = crossings.shape(0);
    require(n >= 1 && block_rows >= 1, "rows and block_rows must be positive");
    require_size(n + 1, "starts has the wrong length", starts);
    require(starts[0] == 0, "starts does not begin with 0");
    require_size(starts[n], "an array has the wrong shape", columns, weights);
    for (Index i = 0; i < n; ++i) {
        const Index begin = starts[i], middle = crossings[i], end = starts[i + 1];
        require(begin <= middle && middle <= end, "starts and crossings do not ascend");
        const Index block = i / block_rows;
        bool earlier = false;
        for (Index e = begin; e < end; ++e) {
            const Index j = columns[e];
            require(j >= 0 && j < n, "a column is out of range");
            require(e < middle ? j > i && j / block_rows == block : j / block_rows != block,
                    "an edge is on the wrong side of the crossings");
            require(!(earlier && j > i), "later rows do not come first");
            earlier = j < i;
        }
    }
    return {starts, crossings, columns, weights, block_rows};
}

template <class... Arrays>
void require_rows(Index n, Index width, const Arrays&... arrays) {
    require_size(n * width, "an array has the wrong shape", arrays...);
    require_aligned("an array is not aligned to cache lines", arrays...);
}

template <class T>
double iterate_primal_dual(const BlockedGraphArrays<T>& arrays, Out2<T> duals, Out2<T> memberships,
                           Out2<T> extrapolated, Out2<T> spare, In2<T> anchors, In1<std::uint8_t> fixed,
                           In1<T> row_steps, In2<T> outer, bool steps_by_weight, double tau, double convexity,
                           Index n_iterations, Out1<double> squares, int n_threads, std::optional<In1<T>> row_weights) {
    const BlockedGraph<T> graph = arrays.view();
    const Index n = graph.n_rows, n_columns = duals.shape(1), width = ceil_div(n_columns, kLanes<T>) * kLanes<T>;
    require(n_columns >= 1, "duals has no columns");
    require_size(arrays.n_edges() * n_columns, "duals has the wrong shape", duals);
    require_rows(n, width, memberships, extrapolated, spare, anchors);
    require_size(n, "an array has the wrong shape", fixed, row_steps, row_weights);
    require_rows(6, width, outer);
    require(tau > 0, "tau must be positive");
    require_size(graph.n_blocks(), "one square per block is needed", squares);
    const PrimalDualState<T> state{n_columns, width,   duals, memberships, extrapolated,
                                   spare,     anchors, fixed, row_steps,   data_or_null(row_weights)};
    const T* const rows = outer;
    const OuterStep<T> step{
        rows, rows + width, rows + 2 * width, rows + 3 * width, rows + 4 * width, rows + 5 * width, steps_by_weight};
    return kernels().of<T>().iterate_primal_dual(graph, state, step, tau, convexity, n_iterations, squares, n_threads);
}

template <class T>
void column_statistics(const BlockedGraphArrays<T>& arrays, In2<T> memberships, In1<Index> ranks, Out1<T> medians,
                       Out2<double> sums, Out2<Index> counts, int n_threads) {
    const BlockedGraph<T> graph = arrays.view();
    const Index n = graph.n_rows, n_columns = medians.shape(0), width = memberships.shape(1);
    require(n_columns >= 1 && width == ceil_div(n_columns, kLanes<T>) * kLanes<T>, "the width does not fit");
    require_rows(n, width, memberships);
    require_size(n_columns, "one rank per column is needed", ranks);
    require_between(0, n, "the rank is out of range", ranks);
    require_size(3 * n_columns, "three sums per column are needed", sums);
    require_size(2 * n_columns, "two counts per column are needed", counts);
    double* const s = sums;
    Index* const c = counts;
    const ColumnStatistics<T> out{medians, s, s + n_columns, c, c + n_columns, s + 2 * n_columns};
    kernels().of<T>().column_statistics(graph, memberships, n_columns, width, ranks, out, n_threads);
}

template <class T>
void bind_total_variation_of(nb::module_& m, const char* name, const char* maker) {
    nb::class_<BlockedGraphArrays<T>>(m, name).def_prop_ro("n_edges", &BlockedGraphArrays<T>::n_edges);
    m.def(maker, &blocked_graph<T>);
    m.def("iterate_primal_dual", &iterate_primal_dual<T>, Unlocked());
    m.def("column_statistics", &column_statistics<T>, Unlocked());
}

Index move_vertices_of_graph(In1<Index> starts, In1<std::int32_t> columns, std::optional<In1<double>> weights,
                             std::optional<In1<double>> sizes, In1<std::uint8_t> fixed, In1<double> asymmetries,
                             double least, double most, Out1<std::int32_t> clusters) {
    const Index n = clusters.shape(0), n_clusters = asymmetries.shape(0);
    require_size(n + 1, "starts has the wrong length", starts);
    require_starts(starts);
    require_size(starts[n], "an array has the wrong shape", columns, weights);
    require_between(0, n, "a column is out of range", columns);
    require_size(n, "an array has the wrong shape", sizes, fixed);
    require_between(0, n_clusters, "a cluster is out of range", clusters);
    const CutVertices vertices{
        starts, columns, data_or_null(weights), data_or_null(sizes), fixed, asymmetries, n, n_clusters, least, most};
    return move_vertices(vertices, clusters);
}

}  // namespace

void bind_total_variation(nb::module_& m) {
    bind_total_variation_of<float>(m, "BlockedGraphFloat32", "blocked_graph_float32");
    bind_total_variation_of<double>(m, "BlockedGraphFloat64", "blocked_graph_float64");
    m.def("move_vertices", &move_vertices_of_graph, Unlocked());
}

}  // namespace coterie
