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

// IN centers (n x d), shift (d); OUT relative (centers - shift), squares (of the norms of relative),
// offsets (see Centers). Sums in eight chains, for bit-identical results on all instruction sets.
template <class Isa, class T>
void relate_centers(const T* centers, const double* shift, T* relative, double* squares, T* offsets, Index n,
                    Index d, int n_threads) {
    constexpr Index kChains = 8;
    parallel_for(n, n_threads, [&](Index c) {
        double square[kChains] = {}, cross[kChains] = {};
        for (Index j = 0; j < d; ++j)
            relative[c * d + j] = static_cast<T>(static_cast<double>(centers[c * d + j]) - shift[j]);
        Index j = 0;
        for (; j + kChains <= d; j += kChains)
            for (Index u = 0; u < kChains; ++u) {
                const double r = static_cast<double>(relative[c * d + j + u]);
                square[u] = multiply_add_in_order(r, r, square[u]);
                cross[u] = multiply_add_in_order(r, shift[j + u], cross[u]);
            }
        for (; j < d; ++j) {
            const double r = static_cast<double>(relative[c * d + j]);
            square[0] = multiply_add_in_order(r, r, square[0]);
            cross[0] = multiply_add_in_order(r, shift[j], cross[0]);
        }
        for (Index u = 1; u < kChains; ++u) {
            square[0] += square[u];
            cross[0] += cross[u];
        }
        squares[c] = square[0];
        offsets[c] = static_cast<T>(square[0] + 2 * cross[0]);
    });
}

// IN left, right (n x d); OUT dots (n) = left[c] . right[c], squares (n) = ||left[c] - right[c]||^2.
template <class Isa, class L, class T>
void compare_centers(const L* left, const T* right, double* dots, double* squares, Index n, Index d, int n_threads) {
    constexpr Index kChains = 8;
    parallel_for(n, n_threads, [&](Index c) {
        double dot[kChains] = {}, square[kChains] = {};
        const auto add = [&](Index j, Index u) {
            const double l = static_cast<double>(left[c * d + j]), r = static_cast<double>(right[c * d + j]);
            dot[u] = multiply_add_in_order(l, r, dot[u]);
            square[u] = multiply_add_in_order(l - r, l - r, square[u]);
        };
        Index j = 0;
        for (; j + kChains <= d; j += kChains)
            for (Index u = 0; u < kChains; ++u) add(j + u, u);
        for (; j < d; ++j) add(j, 0);
        for (Index u = 1; u < kChains; ++u) {
            dot[0] += dot[u];
            square[0] += square[u];
        }
        dots[c] = dot[0];
        squares[c] = square[0];
    });
}

}  // namespace
}  // namespace coterie
