// The distance of every row to its own centroid.
#pragma once

#include "coterie/machine/isa.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {
namespace {

template <class T>
double square_distance(const DenseRows<T>& x, Index i, const double* center, double) {
    constexpr Index kChains = 8;
    const T* row = x.row(i);
    double sums[kChains] = {};
    Index j = 0;
    for (; j + kChains <= x.n_columns; j += kChains)
        for (Index u = 0; u < kChains; ++u) {
            const double difference = static_cast<double>(row[j + u]) - center[j + u];
            sums[u] += difference * difference;
        }
    for (; j < x.n_columns; ++j) {
        const double difference = static_cast<double>(row[j]) - center[j];
        sums[0] = multiply_add_in_order(difference, difference, sums[0]);
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class T>
double square_distance(const CsrRows<T>& x, Index i, const double* center, double center_square) {
    double out = center_square;
    for (Index e = x.begin(i), end = x.end(i); e < end; ++e) {
        const double value = static_cast<double>(x.values[e]), c = center[x.columns[e]];
        out += (value - c) * (value - c) - c * c;
    }
    return out < 0 ? 0 : out;  // a NaN stays one
}

// Squared distance of every row to centers[labels[i]] (to centers[0] where labels is nullptr), by differences:
// accurate even where the score formula cancels.
// IN x, centers (n_centers x n_columns), center_squares (n_centers; sparse rows only), labels; OUT squares.
template <class Isa, class Rows>
void own_square_distances(const Rows& x, const double* centers, const double* center_squares,
                          const std::int32_t* labels, double* squares, int n_threads) {
    constexpr Index kChunk = 512;
    parallel_for(ceil_div(x.n_rows, kChunk), n_threads, [&](Index task) {
        const Index end = min_index(x.n_rows, (task + 1) * kChunk);
        for (Index i = task * kChunk; i < end; ++i) {
            const Index c = labels == nullptr ? 0 : labels[i];
            squares[i] = square_distance(x, i, centers + c * x.n_columns, center_squares[c]);
        }
    });
}

}  // namespace
}  // namespace coterie
