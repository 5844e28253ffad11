// Norms of the differences of points, and projections on the balls of their dual norms.
#pragma once

#include "coterie/machine/isa.hpp"
#include "coterie/machine/numbers.hpp"

namespace coterie {

// A sum of Euclidean norms over groups of neighboring columns (one group: l2; one column each: l1), or the largest
// absolute value. Groups of columns are independent.
struct FusionNorm {
    const Index* group_starts;  // n_groups + 1, columns
    Index n_groups;
    Index n_columns;
    bool is_maximum;            // then there is one group
};

namespace {

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
        for (Index j = 0; j < n; ++j) sum = multiply_add_in_order(values[j], values[j], sum);
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

}  // namespace
}  // namespace coterie
