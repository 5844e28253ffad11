// A step of the duals and the points that belong to the new ones, in one pass over the edges.
#pragma once

#include "coterie/convex/dual_step.hpp"
#include "coterie/convex/primal_points.hpp"

namespace coterie {

// Runs of heads whose edges one task updates, adding each new dual to a separate window of sums: the nodes from its
// first head to its furthest tail. Windows are contiguous.
struct FusionWindows {
    const Index* starts;   // n_windows + 1: first heads
    const Index* reaches;  // n_windows: one past the furthest node
    const Index* offsets;  // n_windows: first row of each window
    Index n_windows;
};

namespace {

template <class T, Index P>
void short_sweep(const FusionEdges<T>& edges, const DualStep<T>& step, Index begin, Index end, Index origin, T* window) {
    using Row = ShortRow<T, P>;
    if (begin == end) return;
    typename Row::Vector sum = {};
    Index head = edges.heads[begin] - origin;
    for (Index first = begin; first < end; first += kShortEdges) {
        const Index n = min_index(kShortEdges, end - first);
        short_dual_steps<T, P>(edges, step, first, first + n);
        for (Index e = first; e < first + n; ++e) {
            const auto dual = Row::load(step.former, e);
            const Index next = edges.heads[e] - origin, tail = edges.tails[e] - origin;
            if (next != head) {
                Row::store(window, head, Row::load(window, head) + sum);
                sum = typename Row::Vector{};
                head = next;
            }
            sum += dual;
            Row::store(window, tail, Row::load(window, tail) - dual);
        }
    }
    Row::store(window, head, Row::load(window, head) + sum);
}

template <class T>
void long_sweep(const FusionEdges<T>& edges, const FusionNorm& norm, const DualStep<T>& step, Index begin, Index end,
                Index origin, T* window) {
    const Index p = norm.n_columns;
    for (Index e = begin; e < end; ++e) {
        long_dual_steps(edges, norm, step, e, e + 1);
        const T* const dual = step.former + e * p;
        T* const head = window + (edges.heads[e] - origin) * p;
        T* const tail = window + (edges.tails[e] - origin) * p;
        for (Index j = 0; j < p; ++j) {
            head[j] += dual[j];
            tail[j] -= dual[j];
        }
    }
}

// The points of a run of nodes: X and the windows' sums, in the order of the windows.
template <class T>
double points_of_windows(const FusionWindows& windows, const PrimalPoints<T>& points, const T* sums, Index begin,
                         Index end, Index p) {
    T* const next = points.next;
    for (Index k = begin * p; k < end * p; ++k) next[k] = points.rows[k];
    for (Index w = 0; w < windows.n_windows && windows.starts[w] < end; ++w) {
        if (windows.reaches[w] <= begin) continue;
        const Index first = windows.starts[w] > begin ? windows.starts[w] : begin;
        const T* const sum = sums + (windows.offsets[w] - windows.starts[w]) * p;
        for (Index k = first * p; k < min_index(end, windows.reaches[w]) * p; ++k) next[k] += sum[k];
    }
    for (Index k = begin * p; k < end * p; ++k)
        points.ahead[k] = next[k] + points.momentum * (next[k] - points.current[k]);
    return energy_of(next + begin * p, (end - begin) * p);
}

// `dual_step` and `primal_points` in one: each new dual is summed while it is in a register. The points of the step may
// be `points.ahead`. Scratch sums (one row for each of all windows' nodes); OUT squares (as of `primal_points`).
template <class Isa, class T>
void dual_sweep(const FusionEdges<T>& edges, const FusionNorm& norm, const FusionWindows& windows,
                const DualStep<T>& step, const PrimalPoints<T>& points, T* sums, double* squares, int n_threads) {
    const Index p = norm.n_columns;
    parallel_for(windows.n_windows, n_threads, [&](Index w) {
        const Index origin = windows.starts[w];
        const Index begin = edges.head_starts[origin], end = edges.head_starts[windows.starts[w + 1]];
        T* const window = sums + windows.offsets[w] * p;
        for (Index k = 0; k < (windows.reaches[w] - origin) * p; ++k) window[k] = 0;
        const auto short_one = [&]<Index P>() { short_sweep<T, P>(edges, step, begin, end, origin, window); };
        if (!with_short_rows(norm, short_one)) long_sweep(edges, norm, step, begin, end, origin, window);
    });
    parallel_for(ceil_div(edges.n_nodes, kQuantum), n_threads, [&](Index q) {
        const Index end = min_index(edges.n_nodes, (q + 1) * kQuantum);
        squares[q] = points_of_windows(windows, points, sums, q * kQuantum, end, p);
    });
}

}  // namespace
}  // namespace coterie
