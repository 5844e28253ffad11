// The shares of rows in their candidates, from the energies.
#pragma once

#include "coterie/machine/exponential.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {
namespace {

// Replaces n numbers, at most 0, by their exponentials.
template <class Isa, class T>
void exponentials(T* values, Index n) {
    using V = typename Isa::template UnalignedVector<T>;
    constexpr Index L = sizeof(V) / sizeof(T);
    Index i = 0;
    for (; i + L <= n; i += L) {
        V* const some = reinterpret_cast<V*>(values + i);
        *some = exponential_of_negative<T>(*some);
    }
    if (i == n) return;
    V rest{};
    for (Index l = 0; i + l < n; ++l) rest[l] = values[i + l];
    rest = exponential_of_negative<T>(rest);
    for (Index l = 0; i + l < n; ++l) values[i + l] = rest[l];
}

// IN energies (n x m, ascending), negligible; OUT shares (n x m; each row sums to 1; 0 where smaller than
// exp(-negligible) of the largest one), log_densities (n): log sum exp(-energy).
template <class Isa, class T>
void truncated_posteriors(const T* energies, Index n, Index m, T negligible, T* shares, double* log_densities,
                          int n_threads) {
    constexpr Index kChunk = 2048;
    parallel_for(ceil_div(n, kChunk), n_threads, [&](Index task) {
        const Index begin = task * kChunk, end = min_index(n, begin + kChunk);
        for (Index i = begin; i < end; ++i)
            for (Index k = 0; k < m; ++k) {
                const T above = energies[i * m + k] - energies[i * m];
                shares[i * m + k] = above < negligible ? -above : -infinity<T>();
            }
        exponentials<Isa>(shares + begin * m, (end - begin) * m);
        for (Index i = begin; i < end; ++i) {
            T* share = shares + i * m;
            double total = 0;
            for (Index k = 0; k < m; ++k) total += static_cast<double>(share[k]);
            const T scale = static_cast<T>(1 / total);
            for (Index k = 0; k < m; ++k) share[k] *= scale;
            // Many rows have one share.
            log_densities[i] = (total == 1 ? 0 : __builtin_log(total)) - static_cast<double>(energies[i * m]);
        }
    });
}

}  // namespace
}  // namespace coterie
