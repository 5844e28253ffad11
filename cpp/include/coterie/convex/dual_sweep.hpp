// A projected gradient step of the duals, the points that belong to the new ones, and both in one pass over the edges.
#pragma once

#include "coterie/convex/problem.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {

template <class T>
struct DualStep {
    T gamma;
    T momentum;
    const T* points;  // n_nodes x n_columns: U at the extrapolated duals
    const T* duals;   // n_edges x n_columns
    T* former;        // IN: the duals before; OUT: the duals after
};

template <class T>
struct PrimalPoints {
    const T* rows;      // n_nodes x n_columns: X
    const T* current;   // n_nodes x n_columns: U before
    T* next;            // OUT n_nodes x n_columns: U = X + Delta
    T* ahead;           // OUT n_nodes x n_columns: next + momentum (next - current)
    T momentum;
};

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
void short_dual_steps(const FusionEdges<T>& edges, const DualStep<T>& step, Index begin, Index end) {
    using Row = ShortRow<T, P>;
    for (Index first = begin; first < end; first += kShortEdges) {
        const Index n = min_index(kShortEdges, end - first);
        typename Row::Vector targets[kShortEdges];
        T squares[kShortEdges] = {}, scales[kShortEdges];
        for (Index l = 0; l < n; ++l) {
            const Index e = first + l;
            const auto dual = Row::load(step.duals, e), former = Row::load(step.former, e);
            const auto difference = Row::load(step.points, edges.heads[e]) - Row::load(step.points, edges.tails[e]);
            const auto target = dual + (dual - former) * step.momentum - difference * edges.steps[e];
            targets[l] = target;
            squares[l] = Row::sum(target * target);
        }
        // Within a cluster usually all duals are inside their balls, which saves roots and quotients.
        int n_outside = 0;
        for (Index l = 0; l < n; ++l) {
            const T radius = step.gamma * edges.weights[first + l];
            n_outside += squares[l] > radius * radius;
        }
        if (n_outside == 0) {
            for (Index l = 0; l < n; ++l) Row::store(step.former, first + l, targets[l]);
            continue;
        }
        for (Index l = 0; l < n; ++l) {
            const T radius = step.gamma * edges.weights[first + l];
            scales[l] = squares[l] > radius * radius ? radius / square_root(squares[l]) : T(1);
        }
        for (Index l = 0; l < n; ++l) Row::store(step.former, first + l, targets[l] * scales[l]);
    }
}

template <class T>
void long_dual_steps(const FusionEdges<T>& edges, const FusionNorm& norm, const DualStep<T>& step, Index begin,
                     Index end) {
    const Index p = norm.n_columns;
    for (Index e = begin; e < end; ++e) {
        const T* const head = step.points + edges.heads[e] * p;
        const T* const tail = step.points + edges.tails[e] * p;
        const T* const dual = step.duals + e * p;
        T* const out = step.former + e * p;
        const T size = edges.steps[e];
        for (Index j = 0; j < p; ++j) out[j] = dual[j] + step.momentum * (dual[j] - out[j]) - size * (head[j] - tail[j]);
        project(norm, out, step.gamma * edges.weights[e]);
    }
}

// One projected gradient step of all duals from the extrapolated ones: lambda <- P(y - nu (u_head - u_tail)).
template <class Isa, class T>
void dual_step(const FusionEdges<T>& edges, const FusionNorm& norm, const DualStep<T>& step, int n_threads) {
    const Index size = edges_per_task(norm.n_columns);
    parallel_for(ceil_div(edges.n_edges, size), n_threads, [&](Index task) {
        const Index begin = task * size, end = min_index(edges.n_edges, begin + size);
        const auto short_steps = [&]<Index P>() { short_dual_steps<T, P>(edges, step, begin, end); };
        if (!with_short_rows(norm, short_steps)) long_dual_steps(edges, norm, step, begin, end);
    });
}

// Two sums at a time, so that additions do not wait for each other.
template <class T, Index P>
void short_primal_row(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index i) {
    using Row = ShortRow<T, P>;
    typename Row::Vector out[2] = {}, in[2] = {};
    Index e = edges.head_starts[i];
    for (; e + 1 < edges.head_starts[i + 1]; e += 2)
        for (Index s = 0; s < 2; ++s) out[s] += Row::load(duals, e + s);
    if (e < edges.head_starts[i + 1]) out[0] += Row::load(duals, e);
    Index k = edges.tail_starts[i];
    for (; k + 1 < edges.tail_starts[i + 1]; k += 2)
        for (Index s = 0; s < 2; ++s) in[s] += Row::load(duals, edges.tail_edges[k + s]);
    if (k < edges.tail_starts[i + 1]) in[0] += Row::load(duals, edges.tail_edges[k]);
    const auto value = Row::load(points.rows, i) + ((out[0] + out[1]) - (in[0] + in[1]));
    Row::store(points.ahead, i, value + (value - Row::load(points.current, i)) * points.momentum);
    Row::store(points.next, i, value);
}

template <class T>
void long_primal_row(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index i, Index p) {
    const T* const row = points.rows + i * p;
    T* const next = points.next + i * p;
    T* const ahead = points.ahead + i * p;
    for (Index j = 0; j < p; ++j) next[j] = row[j];
    for (Index e = edges.head_starts[i]; e < edges.head_starts[i + 1]; ++e)
        for (Index j = 0; j < p; ++j) next[j] += duals[e * p + j];
    for (Index k = edges.tail_starts[i]; k < edges.tail_starts[i + 1]; ++k) {
        const T* const dual = duals + edges.tail_edges[k] * p;
        for (Index j = 0; j < p; ++j) next[j] -= dual[j];
    }
    const T* const current = points.current + i * p;
    for (Index j = 0; j < p; ++j) ahead[j] = next[j] + points.momentum * (next[j] - current[j]);
}

template <class T>
inline void primal_row_of(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index i, Index p) {
    switch (p) {
        case 1: return short_primal_row<T, 1>(edges, points, duals, i);
        case 2: return short_primal_row<T, 2>(edges, points, duals, i);
        case 4: return short_primal_row<T, 4>(edges, points, duals, i);
        default: return long_primal_row(edges, points, duals, i, p);
    }
}

// Sum of the squares of n values, in lanes: one after the other each addition would wait for the one before.
template <class T>
inline double energy_of(const T* values, Index n) {
    constexpr Index kSums = 16;
    double sums[kSums] = {};
    Index k = 0;
    for (; k + kSums <= n; k += kSums)
        for (Index l = 0; l < kSums; ++l) {
            const double value = static_cast<double>(values[k + l]);
            sums[l] = multiply_add_in_order(value, value, sums[l]);
        }
    for (Index l = 0; k < n; ++k, ++l) {
        const double value = static_cast<double>(values[k]);
        sums[l] = multiply_add_in_order(value, value, sums[l]);
    }
    for (Index half = kSums / 2; half > 0; half /= 2)
        for (Index l = 0; l < half; ++l) sums[l] += sums[l + half];
    return sums[0];
}

// U = X + Delta, and U ahead of it by the momentum. IN duals (n_edges x n_columns); OUT squares (one for each run of
// kQuantum nodes): of the entries of U.
template <class Isa, class T>
void primal_points(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index n_columns,
                   double* squares, int n_threads) {
    constexpr Index kAhead = 4;
    parallel_for(ceil_div(edges.n_nodes, kQuantum), n_threads, [&](Index q) {
        const Index begin = q * kQuantum, end = min_index(edges.n_nodes, begin + kQuantum);
        for (Index i = begin; i < end; ++i) {
            if (n_columns > 4 && i + kAhead < edges.n_nodes)
                for (Index k = edges.tail_starts[i + kAhead]; k < edges.tail_starts[i + kAhead + 1]; ++k)
                    __builtin_prefetch(duals + edges.tail_edges[k] * n_columns);
            primal_row_of(edges, points, duals, i, n_columns);
        }
        squares[q] = energy_of(points.next + begin * n_columns, (end - begin) * n_columns);
    });
}

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
