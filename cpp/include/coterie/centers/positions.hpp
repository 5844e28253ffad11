// Positions of centroids: updates, shifts and comparisons, each one pass of O(k d).
#pragma once

#include "coterie/machine/isa.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {
namespace {

// after = shift + sums / masses, rounded; a cluster without mass stays.
// IN sums (n x d), masses (n), shift (d), before (n x d); OUT after (n x d).
template <class Isa, class T>
void move_centers(const double* sums, const double* masses, const double* shift, const T* before, T* after, Index n,
                  Index d, int n_threads) {
    parallel_for(n, n_threads, [&](Index c) {
        const double* sum = sums + c * d;
        for (Index j = 0; j < d; ++j)
            after[c * d + j] = masses[c] > 0 ? static_cast<T>(sum[j] / masses[c] + shift[j]) : before[c * d + j];
    });
}

// Eight chains of sums of products, for bit-identical results on all instruction sets: column j goes to chain j % 8, the
// last ones go to chain 0.
template <class Isa>
struct Chains {
    using V = typename Isa::template Vector<double>;
    static constexpr Index kChains = 8, L = sizeof(V) / sizeof(double), kVectors = kChains / L;
    V chains[kVectors] = {};

    void add(Index v, V a, V b) { chains[v] = multiply_add(a, b, chains[v]); }
    void add_last(double a, double b) { chains[0][0] = multiply_add_in_order(a, b, chains[0][0]); }
    double sum() const {
        double total = chains[0][0];
        for (Index u = 1; u < kChains; ++u) total += chains[u / L][u % L];
        return total;
    }
};

// Calls whole(j, v) for vector v of the columns from j on, as long as there are eight, and last(j) for the others.
template <class Isa, class Whole, class Last>
inline __attribute__((always_inline)) void for_chains(Index d, Whole whole, Last last) {
    using C = Chains<Isa>;
    Index j = 0;
    for (; j + C::kChains <= d; j += C::kChains)
#pragma GCC unroll 4
        for (Index v = 0; v < C::kVectors; ++v) whole(j + v * C::L, v);
    for (; j < d; ++j) last(j);
}

// One center of `relate_centers`.
template <class Isa, class T>
void relate_center(const T* center, const double* shift, Index d, T* relative, double* square, T* offset) {
    for (Index j = 0; j < d; ++j) relative[j] = static_cast<T>(static_cast<double>(center[j]) - shift[j]);
    Chains<Isa> squares, cross;
    for_chains<Isa>(
        d,
        [&](Index j, Index v) {
            const auto r = Isa::doubles(relative + j);
            squares.add(v, r, r);
            cross.add(v, r, Isa::doubles(shift + j));
        },
        [&](Index j) {
            const double r = static_cast<double>(relative[j]);
            squares.add_last(r, r);
            cross.add_last(r, shift[j]);
        });
    *square = squares.sum();
    *offset = static_cast<T>(*square + 2 * cross.sum());
}

// IN centers (n x d), shift (d); OUT relative (centers - shift), squares (of the norms of relative),
// offsets (see Centers).
template <class Isa, class T>
void relate_centers(const T* centers, const double* shift, T* relative, double* squares, T* offsets, Index n,
                    Index d, int n_threads) {
    parallel_for(n, n_threads, [&](Index c) {
        relate_center<Isa>(centers + c * d, shift, d, relative + c * d, squares + c, offsets + c);
    });
}

// IN left, right (n x d); OUT dots (n) = left[c] . right[c], squares (n) = ||left[c] - right[c]||^2.
template <class Isa, class L, class T>
void compare_centers(const L* left, const T* right, double* dots, double* squares, Index n, Index d, int n_threads) {
    parallel_for(n, n_threads, [&](Index c) {
        const L* const one = left + c * d;
        const T* const other = right + c * d;
        Chains<Isa> dot, square;
        for_chains<Isa>(
            d,
            [&](Index j, Index v) {
                const auto l = Isa::doubles(one + j), r = Isa::doubles(other + j);
                dot.add(v, l, r);
                square.add(v, l - r, l - r);
            },
            [&](Index j) {
                const double l = static_cast<double>(one[j]), r = static_cast<double>(other[j]);
                dot.add_last(l, r);
                square.add_last(l - r, l - r);
            });
        dots[c] = dot.sum();
        squares[c] = square.sum();
    });
}

}  // namespace
}  // namespace coterie
