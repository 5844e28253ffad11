// The kernels of density-based clustering: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "coterie/density/merges.hpp"

namespace coterie {
namespace {

using Ints = In1<std::int32_t>;

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
    Buffer<std::int32_t> sets(n_rows);
    for (Index i = 0; i < n_rows; ++i) sets[i] = static_cast<std::int32_t>(i);
    for (Index e = 0; e < n_rows - 1; ++e) {
        const std::int32_t a = set_of(sets.data(), firsts.data()[e]), b = set_of(sets.data(), seconds.data()[e]);
        require(a != b, "edges make no tree");
        require(e == 0 || heights.data()[e - 1] <= heights.data()[e], "heights do not ascend");
        sets[b] = a;
    }
    return merge_tree(firsts.data(), seconds.data(), heights.data(), n_rows, parents.data(), sizes.data(),
                      second_largest.data(), node_heights.data());
}

}  // namespace

void bind_density(nb::module_& m) {
    m.def("merge_tree", &merge_tree_of_edges, arg("firsts").noconvert(), arg("seconds").noconvert(),
          arg("heights").noconvert(), arg("parents").noconvert(), arg("sizes").noconvert(),
          arg("second_largest").noconvert(), arg("node_heights").noconvert(), Unlocked());
}

}  // namespace coterie
