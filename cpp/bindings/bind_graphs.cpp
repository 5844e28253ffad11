// The kernels of neighbors: argument checks, then the kernel without the interpreter's lock.
#include <limits>

#include "blocks.hpp"
#include "centers.hpp"
#include "coterie/graphs/rooted_tree.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

// Vectors are read beyond the last limit.
inline constexpr Index kNearPadding = 64;

// IN/OUT limits (n + kNearPadding), uppers (n x m), lowers, ids (n x capacity), sizes (n): the lists of rows.
template <class T>
void nearest_by_bytes(Out1<float> limits, Out2<float> uppers, Out2<float> lowers, Out2<std::int32_t> ids,
                      Out1<std::int32_t> sizes, const DenseBlock<T>& rows, Index first, const DenseBlock<T>& points,
                      Index first_point, T unit, bool serves_points, int n_threads) {
    const NearBlock<T> x{rows.view(), first}, y{points.view(), first_point};
    const Index n_rows = sizes.size(), m = uppers.shape(1), capacity = lowers.shape(1);
    require(m >= 1 && capacity >= m, "lists are too short");
    require_size(n_rows + kNearPadding, "limits has the wrong size", limits);
    require_size(n_rows * m, "uppers has the wrong shape", uppers);
    require_size(n_rows * capacity, "an array has the wrong shape", lowers, ids);
    require(x.rows.n_columns == y.rows.n_columns, "points and rows differ in width");
    require(x.rows.selection == nullptr && y.rows.selection == nullptr, "rows are not consecutive");
    require(first >= 0 && first + x.rows.n_rows <= n_rows, "lists of some rows are missing");
    require(first_point >= 0 && first_point + y.rows.n_rows <= std::numeric_limits<std::int32_t>::max(),
            "first_point is out of range");
    require(!serves_points || first_point + y.rows.n_rows <= n_rows, "lists of some points are missing");
    kernels().of<T>().nearest_by_bytes(x, y, unit, serves_points, {m, capacity, limits, uppers, lowers, ids, sizes}, n_threads);
}

template <class T>
void nearest_apart(const DenseBlock<T>& rows, In2<T> centers, In1<std::int32_t> row_groups,
                   In1<std::int32_t> center_groups, Out2<std::int32_t> ids, Out2<T> squares, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n_centers = centers.shape(0), m = ids.shape(1);
    require(centers.shape(1) == x.n_columns, "centers and rows differ in width");
    require(n_centers >= 1 && n_centers <= std::numeric_limits<std::int32_t>::max(), "no centers, or too many");
    require(m >= 1, "no neighbors");
    require_size(x.n_rows, "one group per row is needed", row_groups);
    require_size(n_centers, "one group per center is needed", center_groups);
    require_size(x.n_rows * m, "an array has the wrong shape", ids, squares);
    kernels().of<T>().nearest_apart(x, centers, n_centers, row_groups, center_groups, m, ids, squares, n_threads);
}

// IN directions (m x n_columns), offsets (m zeros); OUT out (n_rows x m).
template <class T>
void products(const DenseBlock<T>& rows, In2<T> directions, In1<T> offsets, Out2<T> out, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Centers<T> known = centers_view<T>(directions, offsets, x.n_columns);
    require_size(x.n_rows * known.n_centers, "out has the wrong shape", out);
    kernels().of<T>().products(x, known, out, n_threads);
}

// IN centers, offsets, gaps (n_centers x width in whole panels); OUT own (n_rows), visited (n_rows x n_panels).
template <class T>
void cells_in_reach(const DenseBlock<T>& rows, In2<T> centers, In1<T> offsets, In2<T> gaps, double reach,
                    Out1<std::int32_t> own, Out2<std::uint16_t> visited, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Centers<T> known = centers_view<T>(centers, offsets, x.n_columns);
    const Index n_panels = ceil_div(known.n_centers, kLanes<T>);
    require_size(known.n_centers * n_panels * kLanes<T>, "gaps has the wrong shape", gaps);
    require_size(x.n_rows, "own has the wrong shape", own);
    require_size(x.n_rows * n_panels, "visited has the wrong shape", visited);
    kernels().of<T>().cells_in_reach(x, known, gaps, static_cast<T>(reach), own, visited, n_threads);
}

// IN points, offsets, order (n_points, by cell), cell_starts (n_cells + 1), visitors, visitor_starts (n_cells + 1), row_order
// (no row twice), own (n_rows), starts (n_rows + 1), visits.
template <class T>
void nearest_in_cells(const DenseBlock<T>& rows, In2<T> points, In1<T> offsets, In1<std::int32_t> order,
                      In1<Index> cell_starts, In1<std::int32_t> visitors, In1<Index> visitor_starts, In1<Index> row_order,
                      In1<std::int32_t> own, In1<Index> starts, In1<std::int32_t> visits, T unit, Out2<std::int32_t> ids,
                      int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n_points = points.shape(0), n_cells = cell_starts.size() - 1, m = ids.shape(1);
    require(points.shape(1) == x.n_columns, "points and rows differ in width");
    require(x.selection == nullptr, "rows are not consecutive");
    require_size(n_points, "one offset per point, and all points in order, are needed", offsets, order);
    require_between(0, n_points, "a point is not there", order, visitors);
    require_starts(cell_starts);
    require(cell_starts[n_cells] == n_points, "cell_starts does not cover all points");
    require_size(n_cells + 1, "visitor_starts has the wrong shape", visitor_starts);
    require_starts(visitor_starts);
    require_size(visitor_starts[n_cells], "visitor_starts does not cover all visitors", visitors);
    require_between(0, x.n_rows, "row_order is out of range", row_order);
    require_size(x.n_rows, "one cell per row is needed", own);
    require_between(0, n_cells, "the cell of a row is out of range", own);
    require_size(x.n_rows + 1, "starts has the wrong shape", starts);
    require_starts(starts);
    require_size(starts[x.n_rows], "starts does not cover all visits", visits);
    require_between(0, n_cells, "a visited cell is out of range", visits);
    require(m >= 1, "no neighbors");
    require_size(x.n_rows * m, "ids has the wrong shape", ids);
    const CellPoints<T> sorted{{points, n_points, x.n_columns, nullptr}, offsets, order, cell_starts, visitors,
                               visitor_starts, n_cells};
    kernels().of<T>().nearest_in_cells(x, sorted, {row_order, own, starts, visits, row_order.size()}, unit, m, ids, n_threads);
}

// IN row_order (no row twice), candidates (n_rows x m): -1 for none.
template <class T>
void nearest_of_candidates(const DenseBlock<T>& rows, In2<T> points, In1<Index> row_order, In2<std::int32_t> candidates,
                           bool are_points, Out2<std::int32_t> ids, Out2<T> squares, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n_points = points.shape(0), m = candidates.shape(1), n_kept = ids.shape(1);
    require(points.shape(1) == x.n_columns, "points and rows differ in width");
    require(!are_points || n_points == x.n_rows, "rows are not the points");
    require_between(0, x.n_rows, "row_order is out of range", row_order);
    require(candidates.shape(0) == x.n_rows && m >= 1, "candidates has the wrong shape");
    require_between(-1, n_points, "a candidate is not there", candidates);
    require(n_kept >= 1, "no neighbors");
    require_size(x.n_rows * n_kept, "an array has the wrong shape", ids, squares);
    const Candidates listed{row_order, candidates, row_order.size(), m};
    kernels().of<T>().nearest_of_candidates(x, points, n_points, listed, are_points, n_kept, ids, squares, n_threads);
}

Index join_certified_edges(In1<std::int32_t> firsts, In1<std::int32_t> seconds, In1<double> weights, In1<double> bounds,
                           Out1<std::int32_t> sets, Out1<Index> joined) {
    const Index n_edges = weights.size(), n_rows = bounds.size();
    require_size(n_edges, "one number per edge is needed", firsts, seconds);
    require_between(0, n_rows, "an end is out of range", firsts, seconds, sets);
    require_size(n_rows, "one set per row is needed", sets);
    for (Index i = 0; i < n_rows; ++i) require(sets[sets[i]] == sets[i], "a set is not named by one of its rows");
    require_size(n_rows - 1, "joined has the wrong length", joined);
    return join_certified(firsts, seconds, weights, n_edges, bounds, n_rows, sets, joined);
}

template <class T>
struct BoxTreeArrays {
    Index n_points, n_columns, width, last_level;
    Buffer<std::int32_t> order;
    Buffer<T> points, lower, upper;

    BoxTree<T> view() {
        return {order.data(), points.data(), lower.data(), upper.data(), n_points, n_columns, width, last_level};
    }
};

template <class T>
BoxTreeArrays<T> box_tree(In2<T> points, int n_threads) {
    const Index n = points.shape(0), n_columns = points.shape(1);
    require(n >= 1 && n <= std::numeric_limits<std::int32_t>::max(), "no points, or too many");
    Index last_level = 0;
    while (n > kLeafPoints << last_level) ++last_level;
    const Index width = ceil_div(n_columns, kLanes<T>) * kLanes<T>, size = ((Index{2} << last_level) - 1) * width;
    BoxTreeArrays<T> tree{n, n_columns, width, last_level, Buffer<std::int32_t>(n), Buffer<T>(n * width), Buffer<T>(size),
                          Buffer<T>(size)};
    kernels().of<T>().box_tree(points, tree.view(), n_threads);
    return tree;
}

template <class T>
void nearest_reachable(BoxTreeArrays<T>& tree, In1<T> cores, In1<std::int32_t> groups, In1<std::int32_t> rows,
                       In1<std::int32_t> asked, In1<T> limits, Out2<std::int32_t> ids, Out2<T> squares, int n_threads) {
    const Index n_rows = rows.size(), m = ids.shape(1);
    require(m >= 1, "no neighbors");
    require_size(tree.n_points, "one number per point is needed", cores, groups);
    require_between(0, tree.n_points, "a row is out of range", rows);
    require_size(n_rows, "one number per row is needed", asked, limits);
    require_size(n_rows * m, "an array has the wrong shape", ids, squares);
    const ReachableSearch<T> search{cores, groups, rows, asked, limits, n_rows, m};
    kernels().of<T>().nearest_reachable(tree.view(), search, ids, squares, n_threads);
}

void order_of_tree(In1<std::int32_t> firsts, In1<std::int32_t> seconds, Out1<std::int32_t> order,
                   Out1<std::int32_t> parents, Out1<std::int32_t> edges) {
    const Index n = order.size();
    require(n >= 1, "a tree has a node");
    require_size(n - 1, "a tree has one edge less than nodes", firsts, seconds);
    require_size(n, "one number per node is needed", parents, edges);
    require_between(0, n, "an end is out of range", firsts, seconds);
    require(root_tree(firsts, seconds, n, order, parents, edges), "the edges are no tree");
}

void linkage_of_tree(In1<std::int32_t> firsts, In1<std::int32_t> seconds, In1<double> heights, Out2<double> linkage) {
    const Index n = firsts.size() + 1;
    require(n <= std::numeric_limits<std::int32_t>::max() / 2, "too many rows");
    require_size(n - 1, "an array has the wrong shape", seconds, heights);
    require_size(4 * (n - 1), "linkage has the wrong shape", linkage);
    require_between(0, n, "an end is out of range", firsts, seconds);
    require(linkage_of_edges(firsts, seconds, heights, n, linkage), "the edges are no tree");
}

template <class T>
void bind_graphs_of(nb::module_& m, const char* tree_name) {
    m.def("nearest_apart", &nearest_apart<T>, Unlocked());
    m.def("nearest_by_bytes", &nearest_by_bytes<T>, Unlocked());
    m.def("products", &products<T>, Unlocked());
    m.def("cells_in_reach", &cells_in_reach<T>, Unlocked());
    m.def("nearest_in_cells", &nearest_in_cells<T>, Unlocked());
    m.def("nearest_of_candidates", &nearest_of_candidates<T>, Unlocked());
    nb::class_<BoxTreeArrays<T>>(m, tree_name);
    m.def("box_tree", &box_tree<T>, Unlocked());
    m.def("nearest_reachable", &nearest_reachable<T>, Unlocked());
}

}  // namespace

void bind_graphs(nb::module_& m) {
    m.def("join_certified", &join_certified_edges, Unlocked());
    m.def("linkage_of_edges", &linkage_of_tree, Unlocked());
    m.def("root_tree", &order_of_tree, Unlocked());
    m.attr("NEAR_PADDING") = kNearPadding;
    bind_graphs_of<float>(m, "BoxTreeOfFloats");
    bind_graphs_of<double>(m, "BoxTreeOfDoubles");
}

}  // namespace coterie
