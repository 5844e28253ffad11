// The kernels of density-based clustering: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "coterie/density/merges.hpp"
#include "coterie/density/nearest_reachable.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

using Ints = In1<std::int32_t>;

Index join_certified_edges(Ints firsts, Ints seconds, In1<double> weights, In1<double> bounds,
                           Out1<std::int32_t> groups, Out1<Index> joined) {
    const Index n_edges = static_cast<Index>(weights.size()), n_rows = static_cast<Index>(bounds.size());
    require_size(firsts, n_edges, "one first end per edge is needed");
    require_size(seconds, n_edges, "one second end per edge is needed");
    require_between(firsts, 0, n_rows, "an end is out of range");
    require_between(seconds, 0, n_rows, "an end is out of range");
    require_size(groups, n_rows, "one group per row is needed");
    require_between(groups, 0, n_rows, "a group is out of range");
    for (Index i = 0; i < n_rows; ++i)
        require(groups.data()[groups.data()[i]] == groups.data()[i], "a group is not named by one of its rows");
    require_size(joined, n_rows - 1, "joined has the wrong length");
    return join_certified(firsts.data(), seconds.data(), weights.data(), n_edges, bounds.data(), n_rows, groups.data(),
                          joined.data());
}

Index merge_tree_of_edges(Ints firsts, Ints seconds, In1<double> heights, Out1<std::int32_t> parents,
                          Out1<std::int32_t> sizes, Out1<std::int32_t> second_largest, Out1<double> node_heights) {
    const Index n_rows = static_cast<Index>(heights.size()) + 1, most = 2 * n_rows - 1;
    require_size(firsts, n_rows - 1, "one first end per edge is needed");
    require_size(seconds, n_rows - 1, "one second end per edge is needed");
    require_between(firsts, 0, n_rows, "an end is out of range");
    require_between(seconds, 0, n_rows, "an end is out of range");
    require_size(parents, most, "parents has the wrong length");
    require_size(sizes, most, "sizes has the wrong length");
    require_size(second_largest, most, "second_largest has the wrong length");
    require_size(node_heights, most, "node_heights has the wrong length");
    JoinedRows sets(n_rows);
    for (Index e = 0; e < n_rows - 1; ++e) {
        const std::int32_t a = sets.root(firsts.data()[e]), b = sets.root(seconds.data()[e]);
        require(a != b, "edges make no tree");
        require(e == 0 || heights.data()[e - 1] <= heights.data()[e], "heights do not ascend");
        sets.put_under(b, a);
    }
    return merge_tree(firsts.data(), seconds.data(), heights.data(), n_rows, parents.data(), sizes.data(),
                      second_largest.data(), node_heights.data());
}

void require_tree(const Ints& parents) {
    const Index n = static_cast<Index>(parents.size());
    for (Index i = 0; i < n; ++i)
        require(parents.data()[i] < n && (parents.data()[i] > i || (i == n - 1 && parents.data()[i] == i)),
                "a parent is not above its sides");
}

void largest_below_nodes(Ints parents, Ints values, Out1<std::int32_t> largest) {
    require_tree(parents);
    require_size(values, static_cast<Index>(parents.size()), "one value per node is needed");
    require_size(largest, static_cast<Index>(parents.size()), "largest has the wrong length");
    largest_below(parents.data(), values.data(), static_cast<Index>(parents.size()), largest.data());
}

void nearest_marked_nodes(Ints parents, In1<std::uint8_t> is_marked, Out1<std::int32_t> found) {
    require_tree(parents);
    require_size(is_marked, static_cast<Index>(parents.size()), "one mark per node is needed");
    require_size(found, static_cast<Index>(parents.size()), "found has the wrong length");
    nearest_marked(parents.data(), is_marked.data(), static_cast<Index>(parents.size()), found.data());
}

template <class T>
void nearest_reachable(const DenseBlock<T>& rows, In2<T> points, In1<T> cores, Ints groups, In1<Index> starts,
                       In2<T> centers, In1<T> radii, In1<T> least_cores, Ints only, In1<T> row_cores, Ints row_groups,
                       In1<T> limits, Out1<std::int32_t> ids, Out1<T> squares, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n_points = static_cast<Index>(points.shape(0)), n_cells = static_cast<Index>(centers.shape(0));
    require(static_cast<Index>(points.shape(1)) == x.n_columns, "points and rows differ in width");
    require(static_cast<Index>(centers.shape(1)) == x.n_columns, "centers and rows differ in width");
    require(n_cells >= 1, "there are no cells");
    require_size(cores, n_points, "one core distance per point is needed");
    require_size(groups, n_points, "one group per point is needed");
    require_size(starts, n_cells + 1, "starts has the wrong length");
    require_starts(starts);
    require(starts.data()[n_cells] == n_points, "starts does not cover all points");
    require_size(radii, n_cells, "one radius per cell is needed");
    require_size(least_cores, n_cells, "one least core distance per cell is needed");
    require_size(only, n_cells, "one group per cell is needed");
    require_size(row_cores, x.n_rows, "one core distance per row is needed");
    require_size(row_groups, x.n_rows, "one group per row is needed");
    require_size(limits, x.n_rows, "one limit per row is needed");
    require_size(ids, x.n_rows, "ids has the wrong length");
    require_size(squares, x.n_rows, "squares has the wrong length");
    const CellPoints<T> cells{points.data(), cores.data(),       groups.data(), starts.data(), centers.data(),
                              radii.data(),  least_cores.data(), only.data(),   n_points,      x.n_columns,
                              n_cells};
    kernels().of<T>().nearest_reachable(x, cells, row_cores.data(), row_groups.data(), limits.data(), ids.data(),
                                        squares.data(), n_threads);
}

template <class T>
void bind_density_of(nb::module_& m) {
    m.def("nearest_reachable", &nearest_reachable<T>, arg("rows"), arg("points").noconvert(),
          arg("cores").noconvert(), arg("groups"), arg("starts"), arg("centers").noconvert(), arg("radii").noconvert(),
          arg("least_cores").noconvert(), arg("only"), arg("row_cores").noconvert(), arg("row_groups"),
          arg("limits").noconvert(), arg("ids").noconvert(), arg("squares").noconvert(), arg("n_threads"), Unlocked());
}

}  // namespace

void bind_density(nb::module_& m) {
    bind_density_of<float>(m);
    bind_density_of<double>(m);
    m.def("join_certified", &join_certified_edges, arg("firsts").noconvert(), arg("seconds").noconvert(),
          arg("weights").noconvert(), arg("bounds").noconvert(), arg("groups").noconvert(), arg("joined").noconvert(),
          Unlocked());
    m.def("merge_tree", &merge_tree_of_edges, arg("firsts").noconvert(), arg("seconds").noconvert(),
          arg("heights").noconvert(), arg("parents").noconvert(), arg("sizes").noconvert(),
          arg("second_largest").noconvert(), arg("node_heights").noconvert(), Unlocked());
    m.def("largest_below", &largest_below_nodes, arg("parents").noconvert(), arg("values").noconvert(),
          arg("largest").noconvert(), Unlocked());
    m.def("nearest_marked", &nearest_marked_nodes, arg("parents").noconvert(), arg("is_marked"),
          arg("found").noconvert(), Unlocked());
}

}  // namespace coterie
