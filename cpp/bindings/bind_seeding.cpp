// The kernels of D^2 sampling: argument checks, then the kernel without the interpreter's lock.
#include <algorithm>

#include "blocks.hpp"
#include "centers.hpp"
#include "coterie/seeding/growing_set.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

template <class Block>
void bind_seeding_of(nb::module_& m) {
    using Rows = typename Block::Rows;
    using T = typename Rows::value_type;

    const auto potential_view = [](const Rows& x, const In1<T>& squares, const std::optional<In1<T>>& weights,
                                   const Out1<T>& nearest, const Out1<std::int32_t>& owner,
                                   const Out1<std::uint32_t>& reached) {
        require_size(squares, x.n_rows, "one square per row is needed");
        if (weights) require_size(*weights, x.n_rows, "one weight per row is needed");
        require_size(nearest, x.n_rows, "one distance per row is needed");
        require_size(owner, x.n_rows, "one owner per row is needed");
        require_size(reached, x.n_rows, "one set of bits per row is needed");
        return Potential<T>{squares.data(), data_or_null(weights), nearest.data(), owner.data(), reached.data()};
    };
    const auto require_reach = [](const Rows& x, const Potential<T>& state, const In1<T>& reach) {
        std::int32_t lowest = 0, highest = 0;
        for (Index i = 0; i < x.n_rows; ++i) {
            lowest = std::min(lowest, state.owner[i]);
            highest = std::max(highest, state.owner[i]);
        }
        require(lowest >= 0 && highest < static_cast<Index>(reach.shape(0)), "an owner is out of range");
    };

    m.def(
        "adopt_centers",
        [=](const Block& rows, In2<T> centers, In1<T> offsets, std::int32_t first_id, In1<T> reach,
            In1<T> squares, std::optional<In1<T>> weights, Out1<T> nearest, Out1<std::int32_t> owner,
            Out1<std::uint32_t> reached, Out1<double> potentials, int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(centers, offsets, x.n_columns);
            const Potential<T> state = potential_view(x, squares, weights, nearest, owner, reached);
            require_reach(x, state, reach);
            require_size(potentials, ceil_div(x.n_rows, kQuantum), "potentials has the wrong length");
            kernels().of_rows<Rows>().adopt_centers(x, c, first_id, reach.data(), state, potentials.data(), n_threads);
        },
        arg("rows"), arg("centers"), arg("offsets"), arg("first_id"), arg("reach"), arg("squares"),
        arg("weights").none(), arg("nearest"), arg("owner"), arg("reached"), arg("potentials"), arg("n_threads"),
        Unlocked());

    m.def(
        "candidate_gains",
        [=](const Block& rows, In2<T> candidates, In1<T> offsets, In1<T> reach, In1<T> squares,
            std::optional<In1<T>> weights, Out1<T> nearest, Out1<std::int32_t> owner, Out1<std::uint32_t> reached,
            Out2<double> gains, int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(candidates, offsets, x.n_columns);
            const Potential<T> state = potential_view(x, squares, weights, nearest, owner, reached);
            require_reach(x, state, reach);
            require(static_cast<Index>(gains.shape(0)) == ceil_div(x.n_rows, kQuantum) &&
                    static_cast<Index>(gains.shape(1)) == ceil_div(c.n_centers, kLanes<T>) * kLanes<T>,
                    "gains has the wrong shape");
            kernels().of_rows<Rows>().candidate_gains(x, c, reach.data(), state, gains.data(), n_threads);
        },
        arg("rows"), arg("candidates"), arg("offsets"), arg("reach"), arg("squares"), arg("weights").none(),
        arg("nearest"), arg("owner"), arg("reached"), arg("gains"), arg("n_threads"), Unlocked());

    m.def(
        "adopt_candidate",
        [=](const Block& rows, In2<T> center, In1<T> offset, Index slot, std::int32_t id, In1<T> squares,
            std::optional<In1<T>> weights, Out1<T> nearest, Out1<std::int32_t> owner, Out1<std::uint32_t> reached,
            Out1<double> potentials, int n_threads) {
            const Rows x = rows.view();
            const Centers<T> c = centers_view(center, offset, x.n_columns);
            require(c.n_centers == 1 && slot >= 0, "one center, with the slot that it had as a candidate");
            const Potential<T> state = potential_view(x, squares, weights, nearest, owner, reached);
            require_size(potentials, ceil_div(x.n_rows, kQuantum), "potentials has the wrong length");
            kernels().of_rows<Rows>().adopt_candidate(x, c, slot, id, state, potentials.data(), n_threads);
        },
        arg("rows"), arg("center"), arg("offset"), arg("slot"), arg("id"), arg("squares"), arg("weights").none(),
        arg("nearest"), arg("owner"), arg("reached"), arg("potentials"), arg("n_threads"), Unlocked());
}

}  // namespace

void bind_seeding(nb::module_& m) {
    for_each_block([&]<class Block>() { bind_seeding_of<Block>(m); });
}

}  // namespace coterie
