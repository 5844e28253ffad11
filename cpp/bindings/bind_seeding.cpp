// The kernels of D^2 sampling: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "centers.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

// An array that frees what a kernel has allocated.
template <class T>
auto owned_array(T* data, Index n) {
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(
        data, {static_cast<std::size_t>(n)}, nb::capsule(data, [](void* p) noexcept { free_aligned(p); }));
}

template <class Block>
void bind_pairs_of(nb::module_& m) {
    using Rows = typename Block::Rows;
    using T = typename Rows::value_type;
    m.def(
        "pairs_in_reach",
        [](const Block& rows, In2<T> proposals, In1<T> offsets, In1<T> squares, In1<T> nearest, int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(proposals, offsets, x.n_columns);
            require_size(squares, x.n_rows, "one square per row is needed");
            require_size(nearest, x.n_rows, "one distance per row is needed");
            const Reach<T> reach{squares.data(), nearest.data()};
            Pairs<T> pairs{};
            {
                WithoutLock unlocked;
                kernels().of_rows<Rows>().pairs_in_reach(x, c, reach, pairs, n_threads);
            }
            return nb::make_tuple(owned_array(pairs.proposals, pairs.n), owned_array(pairs.rows, pairs.n),
                                  owned_array(pairs.squares, pairs.n));
        },
        arg("rows"), arg("proposals"), arg("offsets"), arg("squares"), arg("nearest"), arg("n_threads"));
}

}  // namespace

void bind_seeding(nb::module_& m) {
    for_each_block([&]<class Block>() { bind_pairs_of<Block>(m); });
}

}  // namespace coterie
