// Distances to a growing set of centres, for D^2 sampling.
//
// A row whose nearest centre o is at squared distance q cannot come nearer to a candidate c with
// ||o - c||^2 >= 4 q: most rows are passed over with one comparison.
#pragma once

#include "parallel.hpp"
#include "scores.hpp"

namespace coterie {

inline constexpr Index kQuantum = 256;  // rows per partial sum; blocks of rows are cut at its multiples

// IN squares, weights (nullptr: 1), quarters; IN/OUT nearest (squared distance to the nearest centre, infinite
// before the first), owner (that centre).
template <class T>
struct Potential {
    const T* squares;       // ||x - m||^2
    const T* weights;
    T* nearest;
    std::int32_t* owner;
    const T* quarters;      // n_owners x n_slots: ||owner - candidate||^2 / 4
};

namespace {

template <class Isa, class Rows>
struct CandidateScan {
    using T = typename Rows::value_type;
    static constexpr Index W = kLanes<T>, H = Isa::kTileHeight;
    const Rows& x;
    const Panels<T>& panels;
    const Potential<T>& state;

    bool in_reach(Index i, Index p) const {
        const T* quarters = state.quarters + state.owner[i] * panels.n_panels * W + p * W;
        const T nearest = state.nearest[i];
        int any = 0;
        for (Index l = 0; l < W; ++l) any |= quarters[l] < nearest;
        return any != 0;
    }

    // Calls use(row, squared distances to the W candidates of panel p) for the rows that a candidate may be nearer to.
    template <class Use>
    void scan(Index first, Index end, Index p, Use use) const {
        alignas(64) T tile[H * W];
        Index rows[H];
        Index n = 0;
        for (Index i = first; i <= end; ++i) {
            if (n == H || (i == end && n > 0)) {
                score_rows<Isa>(x, rows, n, panels, p, tile);
                for (Index r = 0; r < n; ++r) {
                    for (Index l = 0; l < W; ++l) {
                        const T square = tile[r * W + l] + state.squares[rows[r]];
                        tile[r * W + l] = square > 0 ? square : 0;
                    }
                    use(rows[r], tile + r * W);
                }
                n = 0;
            }
            if (i < end && in_reach(i, p)) rows[n++] = i;
        }
    }
};

// How much would each candidate lower the potential sum_i w_i nearest_i?
// IN all; OUT gains (ceil(n_rows / kQuantum) x n_panels * kLanes), one partial sum per quantum of rows.
template <class Isa, class Rows>
void candidate_gains(const Rows& x, const Centers<typename Rows::value_type>& candidates,
                     const Potential<typename Rows::value_type>& state, double* gains, int n_threads) {
    using T = typename Rows::value_type;
    constexpr Index W = kLanes<T>;
    const Panels<T> panels = pack(candidates, nullptr, candidates.n_centers, n_threads);
    const CandidateScan<Isa, Rows> candidate_scan{x, panels, state};
    const Index n_quanta = ceil_div(x.n_rows, kQuantum), n_slots = panels.n_panels * W;
    constexpr Index kQuantaPerTask = 16;
    parallel_for(ceil_div(n_quanta, kQuantaPerTask), n_threads, [&](Index task) {
        const Index end_quantum = min_index(n_quanta, (task + 1) * kQuantaPerTask);
        for (Index q = task * kQuantaPerTask; q < end_quantum; ++q)
            for (Index p = 0; p < panels.n_panels; ++p) {
                double* sum = gains + q * n_slots + p * W;
                for (Index l = 0; l < W; ++l) sum[l] = 0;
                const Index end = min_index(x.n_rows, (q + 1) * kQuantum);
                candidate_scan.scan(q * kQuantum, end, p, [&](Index i, const T* squares) {
                    const T nearest = state.nearest[i];
                    const double w = state.weights == nullptr ? 1.0 : static_cast<double>(state.weights[i]);
                    for (Index l = 0; l < W; ++l) {
                        const T gain = nearest - squares[l];
                        sum[l] += w * static_cast<double>(gain > 0 ? gain : 0);
                    }
                });
            }
    });
}

// Adds centre number id. OUT potentials (one per quantum): sum_i w_i nearest_i.
template <class Isa, class Rows>
void adopt_center(const Rows& x, const Centers<typename Rows::value_type>& center, std::int32_t id,
                  const Potential<typename Rows::value_type>& state, double* potentials, int n_threads) {
    using T = typename Rows::value_type;
    const Panels<T> panels = pack(center, nullptr, 1, n_threads);
    const CandidateScan<Isa, Rows> candidate_scan{x, panels, state};
    const Index n_quanta = ceil_div(x.n_rows, kQuantum);
    constexpr Index kQuantaPerTask = 16;
    parallel_for(ceil_div(n_quanta, kQuantaPerTask), n_threads, [&](Index task) {
        const Index end_quantum = min_index(n_quanta, (task + 1) * kQuantaPerTask);
        for (Index q = task * kQuantaPerTask; q < end_quantum; ++q) {
            const Index end = min_index(x.n_rows, (q + 1) * kQuantum);
            candidate_scan.scan(q * kQuantum, end, 0, [&](Index i, const T* squares) {
                if (squares[0] < state.nearest[i]) {
                    state.nearest[i] = squares[0];
                    state.owner[i] = id;
                }
            });
            double sum = 0;
            for (Index i = q * kQuantum; i < end; ++i)
                sum += (state.weights == nullptr ? 1.0 : static_cast<double>(state.weights[i])) *
                       static_cast<double>(state.nearest[i]);
            potentials[q] = sum;
        }
    });
}

}  // namespace
}  // namespace coterie
