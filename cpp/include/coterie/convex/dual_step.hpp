// Convex clustering over a list of edges (Chi and Lange 2015): projected steps of the dual, sums over the edges of a
// node, the penalty and what is missing to the bound, how far the ends of an edge are apart, and sets of fused nodes.
//
// Points and duals lie row by row. The norm is a sum of Euclidean norms over groups of neighbouring columns (one group:
// l2; one column each: l1), or the largest absolute value. Groups of columns do not know each other.
#pragma once

#include "coterie/machine/parallel.hpp"
#include "coterie/centers/scores.hpp"

namespace coterie {

// Edges in ascending order of their heads: those of node i as head are head_starts[i] .. head_starts[i + 1] - 1, those
// as tail are tail_edges[tail_starts[i]] ..., in ascending order.
template <class T>
struct FusionEdges {
    const std::int32_t* heads;       // n_edges
    const std::int32_t* tails;
    const T* weights;
    const T* steps;                  // n_edges: step size of each edge's dual
    const Index* head_starts;        // n_nodes + 1
    const Index* tail_starts;        // n_nodes + 1
    const std::int32_t* tail_edges;  // n_edges
    Index n_edges;
    Index n_nodes;
};

struct FusionNorm {
    const Index* group_starts;  // n_groups + 1, columns
    Index n_groups;
    Index n_columns;
    bool is_maximum;            // then there is one group
};

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

// Runs of heads whose edges one task steps, adding each new dual to a window of sums of its own: the nodes from its first
// head to its furthest tail. Windows lie one after the other.
struct FusionWindows {
    const Index* starts;   // n_windows + 1: first heads
    const Index* reaches;  // n_windows: one past the furthest node
    const Index* offsets;  // n_windows: first row of each window
    Index n_windows;
};

namespace {

// Edges per task, by what they weigh: depends on the number of columns only.
inline Index edges_per_task(Index n_columns) {
    const Index n = 32768 / n_columns;
    return n < 128 ? 128 : (n > 4096 ? 4096 : n);
}

template <class T>
inline T magnitude(T x) { return x < 0 ? -x : x; }

// Sums in a fixed order that any register width can keep.
template <class T>
inline T sum_of_lanes(T (&lanes)[kLanes<T>]) {
    for (Index half = kLanes<T> / 2; half > 0; half /= 2)
        for (Index l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    return lanes[0];
}

template <class T>
inline T sum_of_squares(const T* values, Index n) {
    if (n < kLanes<T>) {
        T sum = 0;
        for (Index j = 0; j < n; ++j) sum += values[j] * values[j];
        return sum;
    }
    T lanes[kLanes<T>] = {};
    Index j = 0;
    for (; j + kLanes<T> <= n; j += kLanes<T>)
        for (Index l = 0; l < kLanes<T>; ++l) lanes[l] += values[j + l] * values[j + l];
    for (Index l = 0; j < n; ++j, ++l) lanes[l] += values[j] * values[j];
    return sum_of_lanes<T>(lanes);
}

template <class T>
inline T dot_product(const T* a, const T* b, Index n) {
    if (n < kLanes<T>) {
        T sum = 0;
        for (Index j = 0; j < n; ++j) sum += a[j] * b[j];
        return sum;
    }
    T lanes[kLanes<T>] = {};
    Index j = 0;
    for (; j + kLanes<T> <= n; j += kLanes<T>)
        for (Index l = 0; l < kLanes<T>; ++l) lanes[l] += a[j + l] * b[j + l];
    for (Index l = 0; j < n; ++j, ++l) lanes[l] += a[j] * b[j];
    return sum_of_lanes<T>(lanes);
}

// The threshold whose soft thresholding projects on the l1 ball of the radius; 0 inside. Each pass drops what the last
// threshold covers (Michelot's algorithm); it ends after at most n passes, as a rule after a handful.
template <class T>
inline T ball_threshold(const T* values, Index n, T radius) {
    T total = 0;
    for (Index j = 0; j < n; ++j) total += magnitude(values[j]);
    if (total <= radius) return 0;
    T threshold = 0;
    for (Index pass = 0; pass < n; ++pass) {
        T sum = 0;
        Index count = 0;
        for (Index j = 0; j < n; ++j)
            if (magnitude(values[j]) > threshold) {
                sum += magnitude(values[j]);
                ++count;
            }
        const T next = count == 0 ? threshold : (sum - radius) / static_cast<T>(count);
        if (!(next > threshold)) break;
        threshold = next;
    }
    return threshold;
}

template <class T>
inline T norm_of_group(const FusionNorm& norm, Index group, const T* values) {
    const Index first = norm.group_starts[group], last = norm.group_starts[group + 1];
    if (!norm.is_maximum && last - first > 1) return square_root(sum_of_squares(values + first, last - first));
    T largest = 0;
    for (Index j = first; j < last; ++j) largest = magnitude(values[j]) > largest ? magnitude(values[j]) : largest;
    return largest;
}

// Projection on the ball of the dual norm, in place.
template <class T>
inline void project(const FusionNorm& norm, T* values, T radius) {
    if (norm.is_maximum) {
        const T threshold = ball_threshold(values, norm.n_columns, radius);
        if (threshold == 0) return;
        for (Index j = 0; j < norm.n_columns; ++j) {
            const T rest = magnitude(values[j]) - threshold;
            values[j] = rest <= 0 ? T(0) : (values[j] < 0 ? -rest : rest);
        }
        return;
    }
    for (Index g = 0; g < norm.n_groups; ++g) {
        const Index first = norm.group_starts[g], n = norm.group_starts[g + 1] - first;
        if (n == 1) {
            const T value = values[first];
            values[first] = value > radius ? radius : (value < -radius ? -radius : value);
            continue;
        }
        const T square = sum_of_squares(values + first, n);
        if (square <= radius * radius) continue;
        const T scale = radius / square_root(square);
        for (Index j = first; j < first + n; ++j) values[j] *= scale;
    }
}

// One row of 1, 2 or 4 columns in a register.
template <class T, Index P>
struct ShortRow {
    typedef T Vector __attribute__((vector_size(P * sizeof(T)), aligned(alignof(T)), may_alias));

    static Vector load(const T* rows, Index i) { return *reinterpret_cast<const Vector*>(rows + i * P); }
    static void store(T* rows, Index i, Vector row) { *reinterpret_cast<Vector*>(rows + i * P) = row; }
    static T sum(Vector row) {
        if constexpr (P == 1) return row[0];
        else if constexpr (P == 2) return row[0] + row[1];
        else return (row[0] + row[2]) + (row[1] + row[3]);
    }
};

inline constexpr Index kShortEdges = 16;  // side by side, so that roots and quotients are vectors

// Calls kernel.template operator()<P>() if all of the norm is one Euclidean norm of P = 1, 2 or 4 columns.
template <class Kernel>
inline bool with_short_rows(const FusionNorm& norm, Kernel kernel) {
    const bool is_euclidean = norm.n_groups == 1 && !norm.is_maximum;
    if (norm.n_columns == 1) kernel.template operator()<1>();
    else if (is_euclidean && norm.n_columns == 2) kernel.template operator()<2>();
    else if (is_euclidean && norm.n_columns == 4) kernel.template operator()<4>();
    else return false;
    return true;
}

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
        // Inside a cluster all are in their balls, as a rule: roots and quotients are dear.
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
    double total = 0;
    for (Index k = begin * p; k < end * p; ++k) {
        points.ahead[k] = next[k] + points.momentum * (next[k] - points.current[k]);
        total += static_cast<double>(next[k]) * static_cast<double>(next[k]);
    }
    return total;
}

// `dual_step` and `primal_points` in one: each new dual is added up while it is at hand. `sums` is scratch, one row for
// each of all windows' nodes. The points of the step may be `points.ahead`.
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

// Two sums at a time, for an addition must not wait for the one before.
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

// U = X + Delta, and U ahead of it by the momentum. OUT squares (one for each run of kQuantum nodes): of the entries of U.
template <class Isa, class T>
void primal_points(const FusionEdges<T>& edges, const PrimalPoints<T>& points, const T* duals, Index n_columns,
                   double* squares, int n_threads) {
    constexpr Index kAhead = 4;
    parallel_for(ceil_div(edges.n_nodes, kQuantum), n_threads, [&](Index q) {
        double total = 0;
        for (Index i = q * kQuantum; i < min_index(edges.n_nodes, (q + 1) * kQuantum); ++i) {
            if (n_columns > 4 && i + kAhead < edges.n_nodes)
                for (Index k = edges.tail_starts[i + kAhead]; k < edges.tail_starts[i + kAhead + 1]; ++k)
                    __builtin_prefetch(duals + edges.tail_edges[k] * n_columns);
            primal_row_of(edges, points, duals, i, n_columns);
            for (Index j = 0; j < n_columns; ++j) {
                const double value = static_cast<double>(points.next[i * n_columns + j]);
                total += value * value;
            }
        }
        squares[q] = total;
    });
}

template <class T>
struct Penalized {
    T gamma;
    const T* points;  // n_nodes x n_columns
    const T* duals;   // n_edges x n_columns, or nullptr
};

// Sums of w ||u_head - u_tail||, and of gamma w ||v|| + <lambda, v> where that is positive.
template <class T, Index P>
void short_penalty(const FusionEdges<T>& edges, const Penalized<T>& what, Index begin, Index end, double* sums) {
    using Row = ShortRow<T, P>;
    double penalty[kShortEdges] = {}, slack[kShortEdges] = {};
    for (Index first = begin; first < end; first += kShortEdges) {
        const Index n = min_index(kShortEdges, end - first);
        T squares[kShortEdges] = {}, products[kShortEdges] = {};
        for (Index l = 0; l < n; ++l) {
            const Index e = first + l;
            const auto v = Row::load(what.points, edges.heads[e]) - Row::load(what.points, edges.tails[e]);
            squares[l] = Row::sum(v * v);
            if (what.duals != nullptr) products[l] = Row::sum(v * Row::load(what.duals, e));
        }
        for (Index l = 0; l < n; ++l) {
            const T weighted = edges.weights[first + l] * square_root(squares[l]);
            const T missing = what.gamma * weighted + products[l];
            penalty[l] += static_cast<double>(weighted);
            slack[l] += static_cast<double>(missing > 0 ? missing : T(0));
        }
    }
    sums[0] = sums[1] = 0;
    for (Index l = 0; l < kShortEdges; ++l) {
        sums[0] += penalty[l];
        sums[1] += slack[l];
    }
}

template <class T>
void long_penalty(const FusionEdges<T>& edges, const FusionNorm& norm, const Penalized<T>& what, Index begin, Index end,
                  T* difference, double* sums) {
    const Index p = norm.n_columns;
    for (Index g = 0; g <= norm.n_groups; ++g) sums[g] = 0;
    for (Index e = begin; e < end; ++e) {
        const T* const head = what.points + edges.heads[e] * p;
        const T* const tail = what.points + edges.tails[e] * p;
        for (Index j = 0; j < p; ++j) difference[j] = head[j] - tail[j];
        T total = 0;
        for (Index g = 0; g < norm.n_groups; ++g) {
            const T length = norm_of_group(norm, g, difference);
            sums[g] += static_cast<double>(edges.weights[e] * length);
            total += length;
        }
        if (what.duals == nullptr || total == 0) continue;
        const T missing = what.gamma * edges.weights[e] * total + dot_product(what.duals + e * p, difference, p);
        if (missing > 0) sums[norm.n_groups] += static_cast<double>(missing);
    }
}

// OUT sums (n_groups + 1 for each task of edges): of w ||u_head - u_tail|| in each group, and, if there are duals, of
// gamma w ||v|| + <lambda, v>: what is missing to equality in the bound, never negative.
template <class Isa, class T>
void fusion_penalty(const FusionEdges<T>& edges, const FusionNorm& norm, T gamma, const T* points, const T* duals,
                    double* sums, int n_threads) {
    const Index size = edges_per_task(norm.n_columns);
    const Penalized<T> what{gamma, points, duals};
    const auto make_scratch = [&] { return Buffer<T>(norm.n_columns); };
    parallel_for(ceil_div(edges.n_edges, size), n_threads, make_scratch, [&](Index task, Buffer<T>& difference) {
        const Index begin = task * size, end = min_index(edges.n_edges, begin + size);
        double* const sum = sums + task * (norm.n_groups + 1);
        const auto short_sums = [&]<Index P>() { short_penalty<T, P>(edges, what, begin, end, sum); };
        if (!with_short_rows(norm, short_sums)) long_penalty(edges, norm, what, begin, end, difference.data(), sum);
    });
}

template <class T, Index P>
void short_lengths(const FusionEdges<T>& edges, const Penalized<T>& what, Index begin, Index end, T* lengths) {
    using Row = ShortRow<T, P>;
    for (Index e = begin; e < end; ++e) {
        const auto v = Row::load(what.points, edges.heads[e]) - Row::load(what.points, edges.tails[e]);
        const auto target = Row::load(what.duals, e) - v * edges.steps[e];
        lengths[e] = Row::sum(target * target);
    }
    for (Index e = begin; e < end; ++e) {
        const T rest = square_root(lengths[e]) - what.gamma * edges.weights[e];
        lengths[e] = rest > 0 ? rest / edges.steps[e] : T(0);
    }
}

template <class T>
void long_lengths(const FusionEdges<T>& edges, const FusionNorm& norm, const Penalized<T>& what, Index begin, Index end,
                  T* target, T* lengths) {
    const Index p = norm.n_columns;
    for (Index e = begin; e < end; ++e) {
        const T* const head = what.points + edges.heads[e] * p;
        const T* const tail = what.points + edges.tails[e] * p;
        const T step = edges.steps[e], radius = what.gamma * edges.weights[e];
        for (Index j = 0; j < p; ++j) target[j] = what.duals[e * p + j] - step * (head[j] - tail[j]);
        if (norm.is_maximum) {
            lengths[e] = ball_threshold(target, p, radius) / step;
            continue;
        }
        for (Index g = 0; g < norm.n_groups; ++g) {
            const T rest = norm_of_group(norm, g, target) - radius;
            lengths[g * edges.n_edges + e] = rest > 0 ? rest / step : T(0);
        }
    }
}

// OUT lengths (n_groups x n_edges): of the differences V that belong to the duals (Eq. 3.11); 0 where the ends are fused.
template <class Isa, class T>
void split_lengths(const FusionEdges<T>& edges, const FusionNorm& norm, T gamma, const T* points, const T* duals,
                   T* lengths, int n_threads) {
    const Index size = edges_per_task(norm.n_columns);
    const Penalized<T> what{gamma, points, duals};
    const auto make_scratch = [&] { return Buffer<T>(norm.n_columns); };
    parallel_for(ceil_div(edges.n_edges, size), n_threads, make_scratch, [&](Index task, Buffer<T>& target) {
        const Index begin = task * size, end = min_index(edges.n_edges, begin + size);
        const auto short_ones = [&]<Index P>() { short_lengths<T, P>(edges, what, begin, end, lengths); };
        if (!with_short_rows(norm, short_ones)) long_lengths(edges, norm, what, begin, end, target.data(), lengths);
    });
}

inline std::int32_t root_of(std::int32_t* parents, std::int32_t node) {
    while (parents[node] != node) {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    return node;
}

// Joins the sets of the ends of all edges whose length is in (low, high]. A root is the lowest node of its set.
template <class Isa, class T>
void join_ends(const FusionEdges<T>& edges, const T* lengths, T low, T high, std::int32_t* parents) {
    for (Index e = 0; e < edges.n_edges; ++e) {
        if (!(lengths[e] > low && lengths[e] <= high)) continue;
        const std::int32_t a = root_of(parents, edges.heads[e]), b = root_of(parents, edges.tails[e]);
        if (a < b) parents[b] = a;
        else parents[a] = b;
    }
}

// Numbers the sets from 0 in the order of their lowest nodes; returns how many there are.
inline Index number_sets(std::int32_t* parents, std::int32_t* labels, Index n_nodes) {
    std::int32_t n_sets = 0;
    for (Index i = 0; i < n_nodes; ++i) {
        const std::int32_t root = root_of(parents, static_cast<std::int32_t>(i));
        labels[i] = root == i ? n_sets++ : labels[root];
    }
    return n_sets;
}

// OUT means (n_nodes x n_columns, from `points` of the same shape): each node's is that of its set, over the columns
// first .. last - 1 only.
template <class Isa, class T>
void set_means(const T* points, const std::int32_t* labels, Index n_sets, Index n_nodes, Index n_columns, Index first,
               Index last, T* means) {
    const Index width = last - first;
    Buffer<double> sums(n_sets * width), counts(n_sets);
    sums.fill(0);
    counts.fill(0);
    for (Index i = 0; i < n_nodes; ++i) {
        double* const sum = sums.data() + labels[i] * width;
        counts[labels[i]] += 1;
        for (Index j = 0; j < width; ++j) sum[j] += static_cast<double>(points[i * n_columns + first + j]);
    }
    for (Index s = 0; s < n_sets; ++s)
        for (Index j = 0; j < width; ++j) sums[s * width + j] /= counts[s];
    for (Index i = 0; i < n_nodes; ++i) {
        const double* const mean = sums.data() + labels[i] * width;
        for (Index j = 0; j < width; ++j) means[i * n_columns + first + j] = static_cast<T>(mean[j]);
    }
}

}  // namespace
}  // namespace coterie
