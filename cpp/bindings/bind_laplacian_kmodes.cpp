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

    WeightedGraph<T> view() const {
        return {starts.data(), columns.data(), data_or_null(weights), diagonal.data(),
                static_cast<Index>(diagonal.shape(0))};
    }
};

template <class T>
WeightedGraphBlock<T> weighted_graph(In1<Index> starts, In1<std::int32_t> columns, std::optional<In1<T>> weights,
                                     In1<T> diagonal) {
    require_starts(starts);
    const Index n = static_cast<Index>(starts.shape(0)) - 1;
    require_size(columns, starts.data()[n], "starts and columns do not belong together");
    require_between(columns, 0, n, "a column is out of range");
    if (weights) require_size(*weights, starts.data()[n], "one weight per edge is needed");
    require_size(diagonal, n, "one diagonal weight per row is needed");
    return {starts, columns, weights, diagonal};
}

template <class T>
Index update_memberships(const WeightedGraphBlock<T>& block, In2<T> affinities, Index n_clusters, T lambda,
                         T smallest_change, In2<T> before, Out2<T> after, In1<std::uint8_t> moved_before,
                         Out1<std::uint8_t> moved_after, Out1<T> rests, Out1<double> attractions,
                         Out1<double> own_terms, Out2<double> sums, int n_threads) {
    const WeightedGraph<T> graph = block.view();
    const Index n = graph.n_rows, width = static_cast<Index>(affinities.shape(1));
    require(n_clusters >= 1 && width == ceil_div(n_clusters, kLanes<T>) * kLanes<T>,
            "the width is not that of the clusters in whole cache lines");
    require_size(affinities, n * width, "affinities has the wrong shape");
    require_size(before, n * width, "before has the wrong shape");
    require_size(after, n * width, "after has the wrong shape");
    require_aligned(affinities, "affinities is not aligned to cache lines");
    require_aligned(before, "before is not aligned to cache lines");
    require_aligned(after, "after is not aligned to cache lines");
    require_size(moved_before, n, "moved_before has the wrong length");
    require_size(moved_after, n, "moved_after has the wrong length");
    require_size(rests, n, "rests has the wrong length");
    require_size(attractions, n, "attractions has the wrong length");
    require_size(own_terms, n, "own_terms has the wrong length");
    require_size(sums, 2 * ceil_div(n, kQuantum), "two sums per run of rows are needed");
    const MembershipUpdate<T> request{affinities.data(),   lambda,       smallest_change,     n_clusters,
                                      width,               before.data(), after.data(),       moved_before.data(),
                                      moved_after.data(),  rests.data(), attractions.data(),  own_terms.data()};
    return kernels().of<T>().update_memberships(graph, request, sums.data(), n_threads);
}

template <class T>
void bind_laplacian_kmodes_of(nb::module_& m, const char* name) {
    nb::class_<WeightedGraphBlock<T>>(m, name);
    m.def("weighted_graph", &weighted_graph<T>, arg("starts").noconvert(), arg("columns").noconvert(),
          arg("weights").none(), arg("diagonal").noconvert());
    m.def("update_memberships", &update_memberships<T>, arg("graph"), arg("affinities").noconvert(), arg("n_clusters"),
          arg("lambda_"), arg("smallest_change"), arg("before").noconvert(), arg("after").noconvert(),
          arg("moved_before"), arg("moved_after"), arg("rests").noconvert(), arg("attractions"), arg("own_terms"),
          arg("sums"), arg("n_threads"), Unlocked());
}

}  // namespace

void bind_laplacian_kmodes(nb::module_& m) {
    bind_laplacian_kmodes_of<float>(m, "WeightedGraphFloat32");
    bind_laplacian_kmodes_of<double>(m, "WeightedGraphFloat64");
}

}  // namespace coterie
