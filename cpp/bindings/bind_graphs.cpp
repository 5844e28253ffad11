// The kernels of neighbors: argument checks, then the kernel without the interpreter's lock.
#include <limits>

#include "blocks.hpp"
#include "centers.hpp"
#include "coterie/graphs/rooted_tree.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

// Lists of rows; keeps the arrays alive. Vectors are read beyond the last limit.
struct NearArrays {
    static constexpr Index kPadding = 64;
    Out1<float> limits;
    Out2<float> uppers, lowers;
    Out2<std::int32_t> ids;
    Out1<std::int32_t> sizes;

    NearLists view() const {
        return {static_cast<Index>(uppers.shape(1)), static_cast<Index>(lowers.shape(1)), limits.data(), uppers.data(),
                lowers.data(), ids.data(), sizes.data()};
    }
};

NearArrays near_lists(Out1<float> limits, Out2<float> uppers, Out2<float> lowers, Out2<std::int32_t> ids,
                      Out1<std::int32_t> sizes) {
    const Index n_rows = static_cast<Index>(sizes.size()), capacity = static_cast<Index>(lowers.shape(1));
    require(uppers.shape(1) >= 1 && capacity >= static_cast<Index>(uppers.shape(1)), "lists are too short");
    require_size(limits, n_rows + NearArrays::kPadding, "limits has the wrong size");
    require_size(uppers, n_rows * static_cast<Index>(uppers.shape(1)), "uppers has the wrong shape");
    require_size(lowers, n_rows * capacity, "lowers has the wrong shape");
    require_size(ids, n_rows * capacity, "ids has the wrong shape");
    return {limits, uppers, lowers, ids, sizes};
}

template <class T>
void nearest_apart(const DenseBlock<T>& rows, In2<T> centers, In1<std::int32_t> row_groups,
                   In1<std::int32_t> center_groups, Out2<std::int32_t> ids, Out2<T> squares, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n_centers = static_cast<Index>(centers.shape(0)), m = static_cast<Index>(ids.shape(1));
    require(static_cast<Index>(centers.shape(1)) == x.n_columns, "centers and rows differ in width");
    require(n_centers >= 1 && n_centers <= std::numeric_limits<std::int32_t>::max(), "no centers, or too many");
    require(m >= 1, "no neighbors");
    require_size(row_groups, x.n_rows, "one group per row is needed");
    require_size(center_groups, n_centers, "one group per center is needed");
    require_size(ids, x.n_rows * m, "ids has the wrong shape");
    require_size(squares, x.n_rows * m, "squares has the wrong shape");
    kernels().of<T>().nearest_apart(x, centers.data(), n_centers, row_groups.data(), center_groups.data(), m,
                                    ids.data(), squares.data(), n_threads);
}

// IN directions (m x n_columns), offsets (m zeros); OUT out (n_rows x m).
template <class T>
void products(const DenseBlock<T>& rows, In2<T> directions, In1<T> offsets, Out2<T> out, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Centers<T> known = centers_view<T>(directions, offsets, x.n_columns);
    require_size(out, x.n_rows * known.n_centers, "out has the wrong shape");
    kernels().of<T>().products(x, known, out.data(), n_threads);
}

// IN centers, offsets, gaps (n_centers x width in whole panels); OUT own (n_rows), visited (n_rows x n_panels).
template <class T>
void cells_in_reach(const DenseBlock<T>& rows, In2<T> centers, In1<T> offsets, In2<T> gaps, double reach,
                    Out1<std::int32_t> own, Out2<std::uint16_t> visited, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Centers<T> known = centers_view<T>(centers, offsets, x.n_columns);
    const Index n_panels = ceil_div(known.n_centers, kLanes<T>);
    require_size(gaps, known.n_centers * n_panels * kLanes<T>, "gaps has the wrong shape");
    require_size(own, x.n_rows, "own has the wrong shape");
    require_size(visited, x.n_rows * n_panels, "visited has the wrong shape");
    kernels().of<T>().cells_in_reach(x, known, gaps.data(), static_cast<T>(reach), own.data(), visited.data(), n_threads);
}

// IN panels (n_slots x n_columns, in panels), panel_offsets, order (n_slots), panel_starts (n_cells + 1), points, offsets,
// visitor_starts (n_cells + 1), visitors, row_order (no row twice), own (n_rows), starts (n_rows + 1), visits.
template <class T>
void nearest_in_cells(const DenseBlock<T>& rows, In1<T> panels, In1<T> panel_offsets, In1<std::int32_t> order,
                      In1<Index> panel_starts, In2<T> points, In1<T> offsets, In1<Index> visitor_starts,
                      In1<std::int32_t> visitors, In1<Index> row_order, In1<std::int32_t> own, In1<Index> starts,
                      In1<std::int32_t> visits, Out2<std::int32_t> ids, Out2<T> scores, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n_points = static_cast<Index>(points.shape(0)), m = static_cast<Index>(ids.shape(1));
    const Index n_slots = static_cast<Index>(order.size()), n_cells = static_cast<Index>(panel_starts.size()) - 1;
    require(static_cast<Index>(points.shape(1)) == x.n_columns, "points and rows differ in width");
    require_size(offsets, n_points, "one offset per point is needed");
    require(n_slots > 0 && n_slots % kLanes<T> == 0, "order does not fill whole panels");
    require_size(panels, n_slots * x.n_columns, "panels has the wrong shape");
    require_aligned(panels, "panels does not begin at a cache line");
    require_size(panel_offsets, n_slots, "one offset per slot is needed");
    require_aligned(panel_offsets, "panel_offsets does not begin at a cache line");
    require_between(order, -1, n_points, "order names a point that is not there");
    require_starts(panel_starts);
    require(panel_starts.data()[n_cells] == n_slots / kLanes<T>, "panel_starts does not cover all panels");
    require_size(visitor_starts, n_cells + 1, "visitor_starts has the wrong shape");
    require_starts(visitor_starts);
    require_size(visitors, visitor_starts.data()[n_cells], "visitor_starts does not cover all visitors");
    require_between(visitors, 0, n_points, "a visitor is not there");
    require_between(row_order, 0, x.n_rows, "row_order is out of range");
    require_size(own, x.n_rows, "one cell per row is needed");
    require_between(own, -n_cells, n_cells, "the cell of a row is out of range");
    require_size(starts, x.n_rows + 1, "starts has the wrong shape");
    require_starts(starts);
    require_size(visits, starts.data()[x.n_rows], "starts does not cover all visits");
    require_between(visits, 0, n_cells, "a visited cell is out of range");
    require(m >= 1, "no neighbors");
    require_size(ids, x.n_rows * m, "ids has the wrong shape");
    require_size(scores, x.n_rows * m, "scores has the wrong shape");
    const CellPanels<T> cells{panels.data(), panel_offsets.data(), order.data(), panel_starts.data(), points.data(),
                              offsets.data(), visitor_starts.data(), visitors.data(), n_points};
    const CellVisits visited{row_order.data(), own.data(), starts.data(), visits.data(),
                             static_cast<Index>(row_order.size())};
    kernels().of<T>().nearest_in_cells(x, cells, visited, m, ids.data(), scores.data(), n_threads);
}

// IN row_order (no row twice), candidates (n_rows x m): -1 for none.
template <class T>
void nearest_of_candidates(const DenseBlock<T>& rows, In2<T> points, In1<Index> row_order, In2<std::int32_t> candidates,
                           bool are_points, Out2<std::int32_t> ids, Out2<T> squares, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n_points = static_cast<Index>(points.shape(0)), m = static_cast<Index>(candidates.shape(1));
    const Index n_kept = static_cast<Index>(ids.shape(1));
    require(static_cast<Index>(points.shape(1)) == x.n_columns, "points and rows differ in width");
    require(!are_points || n_points == x.n_rows, "rows are not the points");
    require_between(row_order, 0, x.n_rows, "row_order is out of range");
    require(static_cast<Index>(candidates.shape(0)) == x.n_rows && m >= 1, "candidates has the wrong shape");
    require_between(candidates, -1, n_points, "a candidate is not there");
    require(n_kept >= 1, "no neighbors");
    require_size(ids, x.n_rows * n_kept, "ids has the wrong shape");
    require_size(squares, x.n_rows * n_kept, "squares has the wrong shape");
    const Candidates listed{row_order.data(), candidates.data(), static_cast<Index>(row_order.size()), m};
    kernels().of<T>().nearest_of_candidates(x, points.data(), n_points, listed, are_points, n_kept, ids.data(),
                                            squares.data(), n_threads);
}

Index join_certified_edges(In1<std::int32_t> firsts, In1<std::int32_t> seconds, In1<double> weights, In1<double> bounds,
                           Out1<std::int32_t> sets, Out1<Index> joined) {
    const Index n_edges = static_cast<Index>(weights.size()), n_rows = static_cast<Index>(bounds.size());
    require_size(firsts, n_edges, "one first end per edge is needed");
    require_size(seconds, n_edges, "one second end per edge is needed");
    require_between(firsts, 0, n_rows, "an end is out of range");
    require_between(seconds, 0, n_rows, "an end is out of range");
    require_size(sets, n_rows, "one set per row is needed");
    require_between(sets, 0, n_rows, "a set is out of range");
    for (Index i = 0; i < n_rows; ++i)
        require(sets.data()[sets.data()[i]] == sets.data()[i], "a set is not named by one of its rows");
    require_size(joined, n_rows - 1, "joined has the wrong length");
    return join_certified(firsts.data(), seconds.data(), weights.data(), n_edges, bounds.data(), n_rows, sets.data(),
                          joined.data());
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
    const Index n = static_cast<Index>(points.shape(0)), n_columns = static_cast<Index>(points.shape(1));
    require(n >= 1 && n <= std::numeric_limits<std::int32_t>::max(), "no points, or too many");
    Index last_level = 0;
    while (n > kLeafPoints << last_level) ++last_level;
    const Index width = ceil_div(n_columns, kLanes<T>) * kLanes<T>, size = ((Index{2} << last_level) - 1) * width;
    BoxTreeArrays<T> tree{n,
                          n_columns,
                          width,
                          last_level,
                          Buffer<std::int32_t>(n),
                          Buffer<T>(n * width),
                          Buffer<T>(size),
                          Buffer<T>(size)};
    kernels().of<T>().box_tree(points.data(), tree.view(), n_threads);
    return tree;
}

template <class T>
void nearest_reachable(BoxTreeArrays<T>& tree, In1<T> cores, In1<std::int32_t> groups, In1<std::int32_t> rows,
                       In1<std::int32_t> asked, In1<T> limits, Out2<std::int32_t> ids, Out2<T> squares,
                       int n_threads) {
    const Index n_rows = static_cast<Index>(rows.size()), m = static_cast<Index>(ids.shape(1));
    require(m >= 1, "no neighbors");
    require_size(cores, tree.n_points, "one core distance per point is needed");
    require_size(groups, tree.n_points, "one group per point is needed");
    require_between(rows, 0, tree.n_points, "a row is out of range");
    require_size(asked, n_rows, "one group per row is needed");
    require_size(limits, n_rows, "one limit per row is needed");
    require_size(ids, n_rows * m, "ids has the wrong shape");
    require_size(squares, n_rows * m, "squares has the wrong shape");
    const ReachableSearch<T> search{cores.data(), groups.data(), rows.data(), asked.data(), limits.data(), n_rows, m};
    kernels().of<T>().nearest_reachable(tree.view(), search, ids.data(), squares.data(), n_threads);
}

void order_of_tree(In1<std::int32_t> firsts, In1<std::int32_t> seconds, Out1<std::int32_t> order,
                   Out1<std::int32_t> parents, Out1<std::int32_t> edges) {
    const Index n = static_cast<Index>(order.size());
    require(n >= 1, "a tree has a node");
    require_size(firsts, n - 1, "a tree has one edge less than nodes");
    require_size(seconds, n - 1, "a tree has one edge less than nodes");
    require_size(parents, n, "one parent per node is needed");
    require_size(edges, n, "one edge per node is needed");
    require_between(firsts, 0, n, "an end is out of range");
    require_between(seconds, 0, n, "an end is out of range");
    require(root_tree(firsts.data(), seconds.data(), n, order.data(), parents.data(), edges.data()),
            "the edges are no tree");
}

void linkage_of_tree(In1<std::int32_t> firsts, In1<std::int32_t> seconds, In1<double> heights, Out2<double> linkage) {
    const Index n = static_cast<Index>(firsts.size()) + 1;
    require(n <= std::numeric_limits<std::int32_t>::max() / 2, "too many rows");
    require_size(seconds, n - 1, "an edge has two ends");
    require_size(heights, n - 1, "one height per edge is needed");
    require_size(linkage, 4 * (n - 1), "linkage has the wrong shape");
    require_between(firsts, 0, n, "an end is out of range");
    require_between(seconds, 0, n, "an end is out of range");
    require(linkage_of_edges(firsts.data(), seconds.data(), heights.data(), n, linkage.data()),
            "the edges are no tree");
}

template <class T>
void bind_graphs_of(nb::module_& m, const char* tree_name) {
    m.def("nearest_apart", &nearest_apart<T>, arg("rows"), arg("centers").noconvert(), arg("row_groups").noconvert(),
          arg("center_groups").noconvert(), arg("ids").noconvert(), arg("squares").noconvert(), arg("n_threads"),
          Unlocked());
    m.def(
        "nearest_by_bytes",
        [](NearArrays& lists, const DenseBlock<T>& rows, Index first, const DenseBlock<T>& points, Index first_point,
           T unit, bool serves_points, int n_threads) {
            const NearBlock<T> x{rows.view(), first}, y{points.view(), first_point};
            const Index n_rows = static_cast<Index>(lists.sizes.size());
            require(x.rows.n_columns == y.rows.n_columns, "points and rows differ in width");
            require(x.rows.selection == nullptr && y.rows.selection == nullptr, "rows are not consecutive");
            require(first >= 0 && first + x.rows.n_rows <= n_rows, "lists of some rows are missing");
            require(first_point >= 0 && first_point + y.rows.n_rows <= std::numeric_limits<std::int32_t>::max(),
                    "first_point is out of range");
            require(!serves_points || first_point + y.rows.n_rows <= n_rows, "lists of some points are missing");
            kernels().searches<T>().nearest_by_bytes(x, y, unit, serves_points, lists.view(), n_threads);
        },
        arg("lists"), arg("rows"), arg("first"), arg("points"), arg("first_point"), arg("unit"), arg("serves_points"),
        arg("n_threads"), Unlocked());
    m.def("products", &products<T>, arg("rows"), arg("directions").noconvert(), arg("offsets").noconvert(),
          arg("out").noconvert(), arg("n_threads"), Unlocked());
    m.def("cells_in_reach", &cells_in_reach<T>, arg("rows"), arg("centers").noconvert(), arg("offsets").noconvert(),
          arg("gaps").noconvert(), arg("reach"), arg("own").noconvert(), arg("visited").noconvert(), arg("n_threads"),
          Unlocked());
    m.def("nearest_in_cells", &nearest_in_cells<T>, arg("rows"), arg("panels").noconvert(),
          arg("panel_offsets").noconvert(), arg("order").noconvert(), arg("panel_starts").noconvert(),
          arg("points").noconvert(), arg("offsets").noconvert(), arg("visitor_starts").noconvert(),
          arg("visitors").noconvert(), arg("row_order").noconvert(), arg("own").noconvert(), arg("starts").noconvert(),
          arg("visits").noconvert(), arg("ids").noconvert(), arg("scores").noconvert(), arg("n_threads"), Unlocked());
    m.def("nearest_of_candidates", &nearest_of_candidates<T>, arg("rows"), arg("points").noconvert(),
          arg("row_order").noconvert(), arg("candidates").noconvert(), arg("are_points"), arg("ids").noconvert(),
          arg("squares").noconvert(), arg("n_threads"), Unlocked());
    nb::class_<BoxTreeArrays<T>>(m, tree_name);
    m.def("box_tree", &box_tree<T>, arg("points").noconvert(), arg("n_threads"), Unlocked());
    m.def("nearest_reachable", &nearest_reachable<T>, arg("tree"), arg("cores").noconvert(), arg("groups"),
          arg("rows"), arg("asked"), arg("limits").noconvert(), arg("ids").noconvert(), arg("squares").noconvert(),
          arg("n_threads"), Unlocked());
}

}  // namespace

void bind_graphs(nb::module_& m) {
    m.def("join_certified", &join_certified_edges, arg("firsts").noconvert(), arg("seconds").noconvert(),
          arg("weights").noconvert(), arg("bounds").noconvert(), arg("sets").noconvert(), arg("joined").noconvert(),
          Unlocked());
    m.def("linkage_of_edges", &linkage_of_tree, arg("firsts"), arg("seconds"), arg("heights"), arg("linkage"),
          Unlocked());
    m.def("root_tree", &order_of_tree, arg("firsts"), arg("seconds"), arg("order"), arg("parents"), arg("edges"),
          Unlocked());
    nb::class_<NearArrays>(m, "NearLists");
    m.attr("NEAR_PADDING") = NearArrays::kPadding;
    m.def("near_lists", &near_lists, arg("limits").noconvert(), arg("uppers").noconvert(), arg("lowers").noconvert(),
          arg("ids").noconvert(), arg("sizes").noconvert());
    bind_graphs_of<float>(m, "BoxTreeOfFloats");
    bind_graphs_of<double>(m, "BoxTreeOfDoubles");
}

}  // namespace coterie
