// The distance of every row to its own centroid.
#pragma once

#include "coterie/machine/isa.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {
namespace {

// Keeps products apart from sums, which the compiler would fuse where there is an instruction for that.
template <class V>
inline __attribute__((always_inline)) void round_product(V& product) {
#if defined(__x86_64__)
    __asm__("" : "+x"(product));
#elif defined(__aarch64__)
    __asm__("" : "+w"(product));
#else
    volatile V rounded = product;
    product = rounded;
#endif
}

inline __attribute__((always_inline)) double square_in_order(double value) {
    double square = value * value;
    round_product(square);
    return square;
}

// Squared distances in float64: the same bits on all instruction sets. They decide which center is the nearest.
template <class Isa, class T, class C>
double square_distance(const DenseRows<T>& x, Index i, const C* center, double) {
    using V = typename Isa::template Vector<double>;
    constexpr Index kChains = 8, L = sizeof(V) / sizeof(double);
    const T* row = x.row(i);
    V sums[kChains / L] = {};
    Index j = 0;
    for (; j + kChains <= x.n_columns; j += kChains)
#pragma GCC unroll 4
        for (Index v = 0; v < kChains / L; ++v) {
            const V difference = Isa::doubles(row + j + v * L) - Isa::doubles(center + j + v * L);
            V square = difference * difference;
            round_product(square);
            sums[v] += square;
        }
    double chains[kChains];
    for (Index u = 0; u < kChains; ++u) chains[u] = sums[u / L][u % L];
    for (; j < x.n_columns; ++j)
        chains[0] += square_in_order(static_cast<double>(row[j]) - static_cast<double>(center[j]));
    return ((chains[0] + chains[1]) + (chains[2] + chains[3])) + ((chains[4] + chains[5]) + (chains[6] + chains[7]));
}

template <class Isa, class T, class C>
double square_distance(const CsrRows<T>& x, Index i, const C* center, double center_square) {
    double out = center_square;
    for (Index e = x.begin(i), end = x.end(i); e < end; ++e) {
        const double value = static_cast<double>(x.values[e]), c = static_cast<double>(center[x.columns[e]]);
        out += square_in_order(value - c) - square_in_order(c);
    }
    return out < 0 ? 0 : out;  // a NaN stays one
}

// Squared distance of every row to centers[labels[i]], by differences: accurate even where the score formula cancels.
// IN x, centers (n_centers x n_columns), center_squares (n_centers; sparse rows only), labels; OUT squares.
template <class Isa, class Rows>
void own_square_distances(const Rows& x, const double* centers, const double* center_squares,
                          const std::int32_t* labels, double* squares, int n_threads) {
    constexpr Index kChunk = 512;
    parallel_for(ceil_div(x.n_rows, kChunk), n_threads, [&](Index task) {
        const Index end = min_index(x.n_rows, (task + 1) * kChunk);
        for (Index i = task * kChunk; i < end; ++i)
            squares[i] = square_distance<Isa>(x, i, centers + labels[i] * x.n_columns, center_squares[labels[i]]);
    });
}

}  // namespace
}  // namespace coterie
