// Distances to a growing set of centres, for D^2 sampling.
//
// A row whose nearest centre o is at squared distance q cannot come nearer to a centre c with
// ||o - c||^2 >= 4 q: where clusters are far apart, most rows are passed over with one comparison.
#pragma once

#include "coterie/centers/scores.hpp"

namespace coterie {

// IN squares, weights (nullptr: 1); IN/OUT nearest (squared distance to the nearest centre, infinite before the
// first), owner (that centre), reached (bit b: candidate b, b + 32, ... of the last pass would be the nearest).
template <class T>
struct Potential {
    const T* squares;  // ||x - m||^2
    const T* weights;
    T* nearest;
    std::int32_t* owner;
    std::uint32_t* reached;
};

namespace {

// sum_i w_i nearest_i over a quantum.
template <class T>
double quantum_potential(const Potential<T>& state, Index first, Index end) {
    double sums[4] = {};
    for (Index i = first; i < end; ++i)
        sums[i % 4] += (state.weights == nullptr ? 1.0 : static_cast<double>(state.weights[i])) *
                       static_cast<double>(state.nearest[i]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Tasks large enough to be worth a wake-up, and enough of them to share.
inline Index quanta_per_task(Index n_quanta) { return max_index(1, min_index(8, n_quanta / 16)); }

// The centres join the set, as numbers first_id and following.
// IN reach (n_owners): the least ||owner - centre||^2 / 4;
// OUT potentials (ceil(n_rows / kQuantum)): sum_i w_i nearest_i of each quantum.
template <class Isa, class Rows>
void adopt_centers(const Rows& x, const Centers<typename Rows::value_type>& centers, std::int32_t first_id,
                   const typename Rows::value_type* reach, const Potential<typename Rows::value_type>& state,
                   double* potentials, int n_threads) {
    using T = typename Rows::value_type;
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight;
    const Panels<T> panels = pack<Rows>(centers, nullptr, centers.n_centers, n_threads);
    const Index n_quanta = ceil_div(x.n_rows, kQuantum);
    const auto adopt = [&](const Index* rows, Index n, Index p, const T* tile) {
        for (Index r = 0; r < n; ++r)
            for (Index l = 0; l < W; ++l) {
                const T square = tile[r * W + l] + state.squares[rows[r]];
                if (square < state.nearest[rows[r]]) {
                    state.nearest[rows[r]] = square > 0 ? square : 0;
                    state.owner[rows[r]] = first_id + static_cast<std::int32_t>(p * W + l);
                }
            }
    };
    const Index per_task = quanta_per_task(n_quanta);
    parallel_for(ceil_div(n_quanta, per_task), n_threads, [&](Index task) {
        alignas(64) T tile[Isa::kTileHeight * kLanes<T>];
        for (Index q = task * per_task; q < min_index(n_quanta, (task + 1) * per_task); ++q) {
            const Index end = min_index(x.n_rows, (q + 1) * kQuantum);
            for (Index p = 0; p < panels.n_panels; ++p) {
                Index rows[H], n = 0;
                const auto flush = [&] {
                    score_rows<Isa>(x, rows, n, panels, p, tile);
                    adopt(rows, n, p, tile);
                    n = 0;
                };
                for (Index i = q * kQuantum; i < end; ++i) {
                    // Owners that joined in this pass have no reach yet: their rows cannot be passed over.
                    if (state.owner[i] < first_id && reach[state.owner[i]] >= state.nearest[i]) continue;
                    rows[n++] = i;
                    if (n == H) flush();
                }
                flush();
            }
            potentials[q] = quantum_potential(state, q * kQuantum, end);
        }
    });
}

// How much would each candidate lower the potential? Marks the rows that each would be nearest to.
// OUT gains (ceil(n_rows / kQuantum) x n_slots). A quantum is short enough to be summed in T.
template <class Isa, class Rows, int Bytes>
void candidate_gains_in(const Rows& x, const Panels<typename Rows::value_type>& panels,
                        const typename Rows::value_type* reach,
                        const Potential<typename Rows::value_type>& state, double* gains, int n_threads) {
    using T = typename Rows::value_type;
    using V = typename Isa::template VectorUpTo<T, Bytes>;
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, L = sizeof(V) / sizeof(T), Used = Bytes / sizeof(T);
    const Index n_quanta = ceil_div(x.n_rows, kQuantum), n_slots = panels.n_panels * W;
    const auto add = [&](const Index* rows, Index n, Index p, const T* tile, T* sums) {
        for (Index r = 0; r < n; ++r) {
            const Index i = rows[r];
            const T room = state.nearest[i] - state.squares[i];
            const unsigned lanes =
                Used < W ? Isa::below_in_half(tile + r * W, room) : Isa::below(tile + r * W, room);
            if (lanes == 0) continue;
            state.reached[i] |= lanes << (p * W % 32);
            const T w = state.weights == nullptr ? T(1) : state.weights[i];
            const V nearest = V{} + state.nearest[i], rooms = V{} + room, zero = V{};
            for (Index l = 0; l < Used; l += L) {
                V gain = rooms - *reinterpret_cast<const V*>(tile + r * W + l);
                gain = gain > nearest ? nearest : gain;
                *reinterpret_cast<V*>(sums + l) += w * (gain > zero ? gain : zero);
            }
        }
    };
    const Index per_task = quanta_per_task(n_quanta);
    parallel_for(ceil_div(n_quanta, per_task), n_threads, [&](Index task) {
        alignas(64) T tile[Isa::kTileHeight * kLanes<T>] = {};
        for (Index q = task * per_task; q < min_index(n_quanta, (task + 1) * per_task); ++q) {
            const Index end = min_index(x.n_rows, (q + 1) * kQuantum);
            for (Index i = q * kQuantum; i < end; ++i) state.reached[i] = 0;
            for (Index p = 0; p < panels.n_panels; ++p) {
                alignas(64) T sums[W] = {};
                Index rows[H], n = 0;
                const auto flush = [&] {
                    score_rows<Isa, Bytes>(x, rows, n, panels, p, tile);
                    add(rows, n, p, tile, sums);
                    n = 0;
                };
                for (Index i = q * kQuantum; i < end; ++i) {
                    if (reach[state.owner[i]] >= state.nearest[i]) continue;
                    prefetch_row(x, i + 2 * H);
                    rows[n++] = i;
                    if (n == H) flush();
                }
                flush();
                for (Index l = 0; l < W; ++l) gains[q * n_slots + p * W + l] = static_cast<double>(sums[l]);
            }
        }
    });
}

template <class Isa, class Rows>
void candidate_gains(const Rows& x, const Centers<typename Rows::value_type>& candidates,
                     const typename Rows::value_type* reach, const Potential<typename Rows::value_type>& state,
                     double* gains, int n_threads) {
    using T = typename Rows::value_type;
    const Panels<T> panels = pack<Rows>(candidates, nullptr, candidates.n_centers, n_threads);
    if (candidates.n_centers <= kLanes<T> / 2)
        candidate_gains_in<Isa, Rows, 32>(x, panels, reach, state, gains, n_threads);
    else candidate_gains_in<Isa, Rows, 64>(x, panels, reach, state, gains, n_threads);
}

// The candidate of the last pass in the given slot joins the set, as number id: only rows that it reached are read.
// IN/OUT potentials.
template <class Isa, class Rows>
void adopt_candidate(const Rows& x, const Centers<typename Rows::value_type>& center, Index slot, std::int32_t id,
                     const Potential<typename Rows::value_type>& state, double* potentials, int n_threads) {
    using T = typename Rows::value_type;
    const Index n_quanta = ceil_div(x.n_rows, kQuantum);
    const std::uint32_t bit = 1u << (slot % 32);
    const Index per_task = quanta_per_task(n_quanta);
    parallel_for(ceil_div(n_quanta, per_task), n_threads, [&](Index task) {
        for (Index q = task * per_task; q < min_index(n_quanta, (task + 1) * per_task); ++q) {
            const Index end = min_index(x.n_rows, (q + 1) * kQuantum);
            std::uint32_t any = 0;
            for (Index i = q * kQuantum; i < end; ++i) any |= state.reached[i];
            if ((any & bit) == 0) continue;
            for (Index i = q * kQuantum; i < end; ++i) {
                if ((state.reached[i] & bit) == 0) continue;
                const T square = state.squares[i] + center.offsets[0] - 2 * dot<Isa>(x, i, center.data);
                if (square < state.nearest[i]) {
                    state.nearest[i] = square > 0 ? square : 0;
                    state.owner[i] = id;
                }
            }
            potentials[q] = quantum_potential(state, q * kQuantum, end);
        }
    });
}

}  // namespace
}  // namespace coterie
