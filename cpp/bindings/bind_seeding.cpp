// The kernels of D^2 sampling: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "centers.hpp"
#include "coterie/machine/buffer.hpp"
#include "coterie/seeding/pools.hpp"
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
        [](const Block& rows, In2<T> proposals, In1<T> offsets, In1<T> squares, In1<T> nearest, Out1<Index> starts,
           int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(proposals, offsets, x.n_columns);
            require_size(squares, x.n_rows, "one square per row is needed");
            require_size(nearest, x.n_rows, "one distance per row is needed");
            require_size(starts, c.n_centers + 1, "starts has the wrong length");
            const Reach<T> reach{squares.data(), nearest.data()};
            Pairs<T> pairs{starts.data(), nullptr, nullptr};
            {
                WithoutLock unlocked;
                kernels().of_rows<Rows>().pairs_in_reach(x, c, reach, pairs, n_threads);
            }
            const Index n = starts.data()[c.n_centers];
            return nb::make_tuple(owned_array(pairs.rows, n), owned_array(pairs.squares, n));
        },
        arg("rows"), arg("proposals"), arg("offsets"), arg("squares"), arg("nearest"), arg("starts"),
        arg("n_threads"));
}

// Calls use(row, square) for the pairs of a proposal.
template <class T, class Use>
void for_each_pair(const In1<Index>& starts, const In1<std::int32_t>& rows, const In1<T>& squares, Index proposal,
                   Index n_rows, Use use) {
    for (Index i = starts.data()[proposal]; i < starts.data()[proposal + 1]; ++i) {
        const Index row = rows.data()[i];
        require(row >= 0 && row < n_rows, "a pair names a row that is not there");
        use(row, squares.data()[i]);
    }
}

template <class T>
void require_pairs(const In1<Index>& starts, const In1<std::int32_t>& rows, const In1<T>& squares) {
    require_starts(starts);
    require_size(squares, static_cast<Index>(rows.size()), "one distance per pair is needed");
    require(starts.data()[starts.size() - 1] == static_cast<Index>(rows.size()), "starts does not end with the pairs");
}

template <class T>
void bind_choices_of(nb::module_& m) {
    m.def(
        "gains",
        [](In1<Index> starts, In1<std::int32_t> rows, In1<T> squares, In1<Index> proposals, In1<T> nearest,
           std::optional<In1<T>> weights, Out1<double> gains) {
            const Index n_rows = static_cast<Index>(nearest.size());
            require_pairs(starts, rows, squares);
            require_between(proposals, 0, static_cast<Index>(starts.size()) - 1, "a proposal is out of range");
            require_size(gains, static_cast<Index>(proposals.size()), "one gain per proposal is needed");
            if (weights) require_size(*weights, n_rows, "one weight per row is needed");
            const T* const w = data_or_null(weights);
            for (Index p = 0; p < static_cast<Index>(proposals.size()); ++p) {
                double gain = 0;
                for_each_pair(starts, rows, squares, proposals.data()[p], n_rows, [&](Index row, T square) {
                    const double less = static_cast<double>(nearest.data()[row]) - static_cast<double>(square);
                    if (less > 0) gain += (w == nullptr ? 1.0 : static_cast<double>(w[row])) * less;
                });
                gains.data()[p] = gain;
            }
        },
        arg("starts"), arg("rows"), arg("squares"), arg("proposals"), arg("nearest"), arg("weights").none(),
        arg("gains"), Unlocked());
    m.def(
        "lower_to",
        [](In1<Index> starts, In1<std::int32_t> rows, In1<T> squares, Index proposal, Out1<T> nearest) {
            require_pairs(starts, rows, squares);
            require(0 <= proposal && proposal + 1 < static_cast<Index>(starts.size()), "a proposal is out of range");
            for_each_pair(starts, rows, squares, proposal, static_cast<Index>(nearest.size()), [&](Index row, T square) {
                if (square < nearest.data()[row]) nearest.data()[row] = square;
            });
        },
        arg("starts"), arg("rows"), arg("squares"), arg("proposal"), arg("nearest"), Unlocked());
}

}  // namespace

void bind_seeding(nb::module_& m) {
    for_each_block([&]<class Block>() { bind_pairs_of<Block>(m); });
    bind_choices_of<float>(m);
    bind_choices_of<double>(m);
}

}  // namespace coterie
