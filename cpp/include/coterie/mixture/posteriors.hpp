// The shares of rows in their candidates, from the energies.
#pragma once

#include "coterie/machine/parallel.hpp"

namespace coterie {
namespace {

inline float exponential(float x) { return __builtin_expf(x); }
inline double exponential(double x) { return __builtin_exp(x); }

// IN energies (n x m, ascending), negligible; OUT shares (n x m; each row sums to 1; 0 where smaller than
// exp(-negligible) of the largest one), log_densities (n): log sum exp(-energy).
template <class Isa, class T>
void truncated_posteriors(const T* energies, Index n, Index m, T negligible, T* shares, double* log_densities,
                          int n_threads) {
    constexpr Index kChunk = 2048;
    parallel_for(ceil_div(n, kChunk), n_threads, [&](Index task) {
        for (Index i = task * kChunk; i < min_index(n, (task + 1) * kChunk); ++i) {
            const T* row = energies + i * m;
            T* share = shares + i * m;
            double total = 0;
            for (Index k = 0; k < m; ++k) {
                const T above = row[k] - row[0];
                share[k] = above < negligible ? exponential(-above) : T(0);
                total += static_cast<double>(share[k]);
            }
            const T scale = static_cast<T>(1 / total);
            for (Index k = 0; k < m; ++k) share[k] *= scale;
            log_densities[i] = __builtin_log(total) - static_cast<double>(row[0]);
        }
    });
}

}  // namespace
}  // namespace coterie
