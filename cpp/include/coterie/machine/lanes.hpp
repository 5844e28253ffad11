// Across the lanes of several vectors: sums, maxima, transposes. Orders do not depend on the width of a register.
#pragma once

#include <utility>

#include "coterie/machine/numbers.hpp"

namespace coterie {
namespace {

struct Sum {
    template <class V>
    V operator()(V a, V b) const { return a + b; }
};

template <class Isa>
struct Least {
    template <class V>
    V operator()(V a, V b) const { return Isa::least(a, b); }
};

template <class Isa>
struct Greatest {
    template <class V>
    V operator()(V a, V b) const { return Isa::greatest(a, b); }
};

// a and b hold `Held` results each, in L / Held parts that lie side by side; returns both, in half as many parts.
template <int L, int Held, class Reduce, class V, int... I>
inline __attribute__((always_inline)) V halve(V a, V b, Reduce reduce, std::integer_sequence<int, I...>) {
    constexpr int h = L / Held / 2;
    return reduce(__builtin_shufflevector(a, b, (I / h * 2 * h + I % h)...),
                  __builtin_shufflevector(a, b, (I / h * 2 * h + I % h + h)...));
}

// Reduces the lanes of each of N vectors, number i to lane i. The order is the same whatever N is.
template <int L, int N, int Held = 1, class V, class Reduce = Sum>
inline __attribute__((always_inline)) V reduce_lanes(const V* v, Reduce reduce = {}) {
    if constexpr (Held == L) {
        return v[0];
    } else {
        V out[(N + 1) / 2];
#pragma GCC unroll 16
        for (int i = 0; i < (N + 1) / 2; ++i)
            out[i] = halve<L, Held>(v[2 * i], v[2 * i + 1 < N ? 2 * i + 1 : 2 * i], reduce,
                                    std::make_integer_sequence<int, L>{});
        return reduce_lanes<L, (N + 1) / 2, 2 * Held>(out, reduce);
    }
}

// Reduces NV vectors to the first.
template <int NV, class V, class Reduce = Sum>
inline __attribute__((always_inline)) V fold(V* parts, Reduce reduce = {}) {
#pragma GCC unroll 4
    for (int half = NV / 2; half > 0; half /= 2)
#pragma GCC unroll 4
        for (int v = 0; v < half; ++v) parts[v] = reduce(parts[v], parts[v + half]);
    return parts[0];
}

// As many vectors as each has lanes.
template <class Isa, class T>
struct LaneBlock {
    using V = typename Isa::template Vector<T>;
    static constexpr int kSize = sizeof(V) / sizeof(T);
    V lines[kSize];

    // Lines become lanes.
    inline __attribute__((always_inline)) void transpose() {
        exchange<kSize / 2>(std::make_integer_sequence<int, kSize>{});
    }

private:
    // Lanes whose number has the bit H change places with lines whose number has it.
    template <int H, int... I>
    inline __attribute__((always_inline)) void exchange(std::integer_sequence<int, I...> lanes) {
        if constexpr (H > 0) {
#pragma GCC unroll 16
            for (int i = 0; i < kSize; ++i) {
                if (i & H) continue;
                const V a = lines[i], b = lines[i + H];
                lines[i] = __builtin_shufflevector(a, b, (I & H ? kSize + I - H : I)...);
                lines[i + H] = __builtin_shufflevector(a, b, (I & H ? kSize + I : I + H)...);
            }
            exchange<H / 2>(lanes);
        }
    }
};

// A square of values, one cache line wide: line r is lines[r][0 .. NV).
template <class Isa, class T>
struct Square {
    using V = typename Isa::template Vector<T>;
    static constexpr int kSize = kLanes<T>, kVectors = 64 / sizeof(V), kWidth = kSize / kVectors;
    V lines[kSize][kVectors];

    // Reduces each line; result r goes to out[r].
    template <class Reduce>
    inline __attribute__((always_inline)) void reduce_lines(T* out, Reduce reduce) const {
#pragma GCC unroll 4
        for (int first = 0; first < kSize; first += kWidth) {
            V folded[kWidth];
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i) {
                V parts[kVectors];
#pragma GCC unroll 4
                for (int v = 0; v < kVectors; ++v) parts[v] = lines[first + i][v];
                folded[i] = fold<kVectors>(parts, reduce);
            }
            *reinterpret_cast<V*>(out + first) = reduce_lanes<kWidth, kWidth>(folded, reduce);
        }
    }

    // Lines become columns.
    inline __attribute__((always_inline)) void transpose() {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            const LaneBlock<Isa, T> own = transposed(v, v);
            put(own, v, v);
#pragma GCC unroll 4
            for (int u = 0; u < v; ++u) {
                const LaneBlock<Isa, T> below = transposed(v, u), above = transposed(u, v);
                put(below, u, v);
                put(above, v, u);
            }
        }
    }

private:
    inline __attribute__((always_inline)) LaneBlock<Isa, T> transposed(int block, int v) const {
        LaneBlock<Isa, T> out;
#pragma GCC unroll 16
        for (int i = 0; i < kWidth; ++i) out.lines[i] = lines[block * kWidth + i][v];
        out.transpose();
        return out;
    }
    inline __attribute__((always_inline)) void put(const LaneBlock<Isa, T>& given, int block, int v) {
#pragma GCC unroll 16
        for (int i = 0; i < kWidth; ++i) lines[block * kWidth + i][v] = given.lines[i];
    }
};

}  // namespace
}  // namespace coterie
