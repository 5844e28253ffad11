// The edges of convex clustering (Chi and Lange 2015), norms of the differences of points, and projections on the balls of
// their dual norms. Points and duals lie row by row.
#pragma once

#include "coterie/machine/isa.hpp"
#include "coterie/machine/numbers.hpp"

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

// A sum of Euclidean norms over groups of neighboring columns (one group: l2; one column each: l1), or the largest
// absolute value. Groups of columns are independent.
struct FusionNorm {
    const Index* group_starts;  // n_groups + 1, columns
    Index n_groups;
    Index n_columns;
    bool is_maximum;            // then there is one group
};

namespace {

// Edges per task, by their size in memory: depends only on the number of columns.
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
inline T dot_product(const T* a, const T* b, Index n) {
    if (n < kLanes<T>) {
        T sum = 0;
        for (Index j = 0; j < n; ++j) sum = multiply_add_in_order(a[j], b[j], sum);
        return sum;
    }
    T lanes[kLanes<T>] = {};
    Index j = 0;
    for (; j + kLanes<T> <= n; j += kLanes<T>)
        for (Index l = 0; l < kLanes<T>; ++l) lanes[l] += a[j + l] * b[j + l];
    for (Index l = 0; j < n; ++j, ++l) lanes[l] += a[j] * b[j];
    return sum_of_lanes<T>(lanes);
}

template <class T>
inline T sum_of_squares(const T* values, Index n) {
    return dot_product(values, values, n);
}

// The threshold whose soft thresholding projects on the l1 ball of the radius; 0 inside. Each pass drops what the last
// threshold covers (Michelot's algorithm); it ends after at most n passes, usually after a few.
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

}  // namespace
}  // namespace coterie
