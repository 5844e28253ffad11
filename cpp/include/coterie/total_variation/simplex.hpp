// Projection on the simplex.
#pragma once

#include "coterie/machine/isa.hpp"

namespace coterie {
namespace {

// Thresholds of the projection of kLanes rows on the simplex (Michelot 1986), together: the excesses over the threshold
// sum to 1. IN/OUT rows, transposed: afterwards less their largest entry, so that a row that ends with a single 1 has
// exactly that. At most n_columns + 1 rounds.
template <class Isa, class T>
void simplex_thresholds(T* transposed, Index n_columns, T* largest, T* thresholds) {
    using V = typename Isa::template Vector<T>;
    constexpr int NV = 64 / sizeof(V);
    V* const values = reinterpret_cast<V*>(transposed);
    V highest[NV], threshold[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) highest[v] = values[v];
    for (Index r = 1; r < n_columns; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) highest[v] = values[r * NV + v] > highest[v] ? values[r * NV + v] : highest[v];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) threshold[v] = V{} - 1;
    for (Index r = 0; r < n_columns; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) values[r * NV + v] -= highest[v];
    for (Index round = 0; round <= n_columns; ++round) {
        V sum[NV], count[NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[v] = count[v] = V{};
        for (Index r = 0; r < n_columns; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) {
                const V value = values[r * NV + v], zero = V{};
                sum[v] += value > threshold[v] ? value : zero;
                count[v] += value > threshold[v] ? zero + 1 : zero;
            }
        V rises = {};
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            const V next = (sum[v] - 1) / count[v];
            rises += next > threshold[v] ? next - threshold[v] : V{};
            threshold[v] = next > threshold[v] ? next : threshold[v];
        }
        T rise = 0;
        for (Index l = 0; l < static_cast<Index>(sizeof(V) / sizeof(T)); ++l) rise += rises[l];
        if (rise == 0) break;
    }
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
        reinterpret_cast<V*>(largest)[v] = highest[v];
        reinterpret_cast<V*>(thresholds)[v] = threshold[v];
    }
}

}  // namespace
}  // namespace coterie
