// Distances to a growing set of centres, for D^2 sampling.
//
// A row whose nearest centre o is at squared distance q cannot come nearer to a centre c with
// ||o - c||^2 >= 4 q: where clusters are far apart, most rows are passed over with one comparison.
#pragma once

#include "parallel.hpp"
#include "scores.hpp"

namespace coterie {

inline constexpr Index kQuantum = 256;  // rows per partial sum; blocks of rows are cut at its multiples

// IN squares, weights (nullptr: 1), quarters; IN/OUT nearest (squared distance to the nearest centre, infinite
// before the first), owner (that centre).
template <class T>
struct Potential {
    const T* squares;   // ||x - m||^2
    const T* weights;
    T* nearest;
    std::int32_t* owner;
    const T* quarters;  // n_owners x n_slots: ||owner - centre||^2 / 4, infinite in empty slots
};

namespace {

template <class Isa, class Rows>
struct PotentialPass {
    using T = typename Rows::value_type;
    static constexpr Index W = kLanes<T>, H = Isa::kTileHeight;
    const Rows& x;
    const Panels<T>& panels;
    const Potential<T>& state;
    Index n_new;
    std::int32_t first_id;

    bool in_reach(Index i) const {
        const T* quarters = state.quarters + state.owner[i] * panels.n_panels * W;
        unsigned any = 0;
        for (Index p = 0; p < panels.n_panels; ++p) any |= Isa::below_unaligned(quarters + p * W, state.nearest[i]);
        return any != 0;
    }

    void adopt(Index i, const T* scores) const {
        for (Index c = 0; c < n_new; ++c) {
            const T square = scores[(c / W) * H * W + c % W] + state.squares[i];
            if (square < state.nearest[i]) {
                state.nearest[i] = square > 0 ? square : 0;
                state.owner[i] = first_id + static_cast<std::int32_t>(c);
            }
        }
    }

    // A quantum is short enough to be summed in T; quanta are summed in double.
    void add_gains(Index i, const T* scores, T* gains) const {
        using V = typename Isa::template Vector<T>;
        constexpr Index L = sizeof(V) / sizeof(T);
        const V nearest = V{} + state.nearest[i], room = nearest - state.squares[i], zero = V{};
        const T w = state.weights == nullptr ? T(1) : state.weights[i];
        for (Index p = 0; p < panels.n_panels; ++p)
            for (Index l = 0; l < W; l += L) {
                V gain = room - *reinterpret_cast<const V*>(scores + p * H * W + l);
                gain = gain > nearest ? nearest : gain;
                *reinterpret_cast<V*>(gains + p * W + l) += w * (gain > zero ? gain : zero);
            }
    }

    // tiles: n_panels x H x W scores.
    void finish(const Index* rows, Index n, T* tiles, T* gains) const {
        for (Index p = 0; p < panels.n_panels; ++p) score_rows<Isa>(x, rows, n, panels, p, tiles + p * H * W);
        for (Index r = 0; r < n; ++r) {
            adopt(rows[r], tiles + r * W);
            add_gains(rows[r], tiles + r * W, gains);
        }
    }

    double quantum(Index first, Index end, T* tiles, T* gains) const {
        Index rows[H], n = 0;
        for (Index i = first; i < end; ++i) {
            if (!in_reach(i)) continue;
            rows[n++] = i;
            if (n == H) {
                finish(rows, n, tiles, gains);
                n = 0;
            }
        }
        finish(rows, n, tiles, gains);
        double sums[4] = {};
        for (Index i = first; i < end; ++i)
            sums[i % 4] += (state.weights == nullptr ? 1.0 : static_cast<double>(state.weights[i])) *
                           static_cast<double>(state.nearest[i]);
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
};

// One pass: the first n_new centres join the set, as numbers first_id and following; for the others: how much would
// each lower the potential sum_i w_i nearest_i?
// OUT potentials (ceil(n_rows / kQuantum)), gains (as many x n_slots; those of the new centres mean nothing).
template <class Isa, class Rows>
void update_potential(const Rows& x, const Centers<typename Rows::value_type>& centers, Index n_new,
                      std::int32_t first_id, const Potential<typename Rows::value_type>& state, double* potentials,
                      double* gains, int n_threads) {
    using T = typename Rows::value_type;
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kQuantaPerTask = 8;
    const Panels<T> panels = pack(centers, nullptr, centers.n_centers, n_threads);
    const PotentialPass<Isa, Rows> pass{x, panels, state, n_new, first_id};
    const Index n_quanta = ceil_div(x.n_rows, kQuantum), n_slots = panels.n_panels * W;
    parallel_for(
        ceil_div(n_quanta, kQuantaPerTask), n_threads, [&] { return Buffer<T>(panels.n_panels * (H + 1) * W); },
        [&](Index task, Buffer<T>& scratch) {
            T* tiles = scratch.data();
            T* sums = tiles + panels.n_panels * H * W;
            for (Index q = task * kQuantaPerTask; q < min_index(n_quanta, (task + 1) * kQuantaPerTask); ++q) {
                for (Index s = 0; s < n_slots; ++s) sums[s] = 0;
                potentials[q] = pass.quantum(q * kQuantum, min_index(x.n_rows, (q + 1) * kQuantum), tiles, sums);
                for (Index s = 0; s < n_slots; ++s) gains[q * n_slots + s] = static_cast<double>(sums[s]);
            }
        });
}

}  // namespace
}  // namespace coterie
