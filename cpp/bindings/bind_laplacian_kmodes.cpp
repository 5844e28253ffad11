// The kernel of Laplacian K-modes: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

// A graph as Python hands it over; keeps the arrays alive.
template <class T>
struct WeightedGraphBlock {
    In1<Index> starts;
    In1<std::int32_t> columns;
    std::optional<In1<T>> weights;
    In1<T> diagonal;

    WeightedGraph<T> view() const { return {starts, columns, data_or_null(weights), diagonal, diagonal.shape(0)}; }
};

template <class T>
WeightedGraphBlock<T> weighted_graph(In1<Index> starts, In1<std::int32_t> columns, std::optional<In1<T>> weights,
                                     In1<T> diagonal) {
    require_starts(starts);
    const Index n = starts.shape(0) - 1;
    require_size(starts[n], "an array has the wrong shape", columns, weights);
    require_between(0, n, "a column is out of range", columns);
    require_size(n, "one diagonal weight per row is needed", diagonal);
    return {starts, columns, weights, diagonal};
}

template <class T>
Index update_memberships(const WeightedGraphBlock<T>& block, In2<T> affinities, Index n_clusters, T lambda,
                         T smallest_change, In2<T> before, Out2<T> after, In1<std::uint8_t> moved_before,
                         Out1<std::uint8_t> moved_after, Out1<T> rests, Out1<double> attractions,
                         Out1<double> own_terms, Out2<double> sums, int n_threads) {
    const WeightedGraph<T> graph = block.view();
    const Index n = graph.n_rows, width = affinities.shape(1);
    require(n_clusters >= 1 && width == ceil_div(n_clusters, kLanes<T>) * kLanes<T>,
            "the width is not that of the clusters in whole cache lines");
    require_size(n * width, "an array has the wrong shape", affinities, before, after);
    require_aligned("an array is not aligned to cache lines", affinities, before, after);
    require_size(n, "an array has the wrong shape", moved_before, moved_after, rests, attractions, own_terms);
    require_size(2 * ceil_div(n, kQuantum), "two sums per run of rows are needed", sums);
    const MembershipUpdate<T> request{affinities, lambda,       smallest_change, n_clusters, width,       before,
                                      after,      moved_before, moved_after,     rests,      attractions, own_terms};
    return kernels().of<T>().update_memberships(graph, request, sums, n_threads);
}

template <class T>
void bind_laplacian_kmodes_of(nb::module_& m, const char* name) {
    nb::class_<WeightedGraphBlock<T>>(m, name);
    m.def("weighted_graph", &weighted_graph<T>);
    m.def("update_memberships", &update_memberships<T>, Unlocked());
}

}  // namespace

void bind_laplacian_kmodes(nb::module_& m) {
    bind_laplacian_kmodes_of<float>(m, "WeightedGraphFloat32");
    bind_laplacian_kmodes_of<double>(m, "WeightedGraphFloat64");
}

}  // namespace coterie
