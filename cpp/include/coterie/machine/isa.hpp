// Properties of an instruction set: vector types, the height of a tile, horizontal operations.
#pragma once

#include "coterie/machine/numbers.hpp"
#include "coterie/machine/stored_bounds.hpp"

namespace coterie {
namespace {

template <class T, int Bytes>
struct VectorOf {
    typedef T Aligned __attribute__((vector_size(Bytes), may_alias));
    typedef T Unaligned __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
};

// One lane is a number: GCC would keep a vector of one in memory.
template <class T, int Bytes>
    requires(Bytes == sizeof(T))
struct VectorOf<T, Bytes> {
    typedef T Unaligned __attribute__((may_alias));
};

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define COTERIE_FUSES 1
#endif

// a * b + c, rounded once if there is a fused multiply-add. Explicit for Clang, which does not fuse a product of
// vectors that is added twice.
template <class V>
inline __attribute__((always_inline)) V multiply_add(V a, V b, V c) {
#if defined(COTERIE_FUSES) && defined(__clang__) && __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#else
    return a * b + c;
#endif
}

// For sums in the order of the columns: GCC would multiply several columns at a time, and round before it adds them.
template <class T>
inline __attribute__((always_inline)) T multiply_add_in_order(T a, T b, T c) {
#if defined(COTERIE_FUSES)
    if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
    else return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

// Bytes per register; rows per tile, so that a tile's sums fill the registers.
template <int Bytes, int Height>
struct PlainIsa {
    static constexpr int kRegisterBytes = Bytes, kTileHeight = Height;
    template <class T>
    using Vector = typename VectorOf<T, Bytes>::Aligned;
    template <class T, int Most>
    using VectorUpTo = typename VectorOf<T, (Most < Bytes ? Most : Bytes)>::Aligned;
    template <class T>
    using UnalignedVector = typename VectorOf<T, Bytes>::Unaligned;

    // As many numbers as a register has doubles.
    template <class T>
    static Vector<double> doubles(const T* from) {
        return __builtin_convertvector(*reinterpret_cast<const typename VectorOf<T, Bytes / 8 * sizeof(T)>::Unaligned*>(from),
                                       Vector<double>);
    }

    template <class V>
    static V least(V a, V b) {
        return a < b ? a : b;
    }
    template <class V>
    static V greatest(V a, V b) {
        return a > b ? a : b;
    }

    // Whether any lane of a is below that of b.
    template <class V>
    static bool any_below(V a, V b) {
        const auto lanes = a < b;
        bool any = false;
        for (unsigned l = 0; l < sizeof(V) / sizeof(a[0]); ++l) any |= lanes[l] != 0;
        return any;
    }

    // The lanes of a panel's scores that are below the bound, as bits.
    template <class T>
    static unsigned below(const T* scores, T bound) {
        unsigned lanes = 0;
        for (Index l = 0; l < kLanes<T>; ++l) lanes |= static_cast<unsigned>(scores[l] < bound) << l;
        return lanes;
    }

    // The lanes of stored lower bounds that are below drift + bound, as bits; see stored_bounds.hpp. Those
    // without one are below the least. Nothing need be aligned.
    template <class T>
    static unsigned below_moved(const StoredBound* stored, BitsType<T> bias, T least, const T* drift, T bound) {
        unsigned lanes = 0;
        for (Index l = 0; l < kLanes<T>; ++l) {
            const T moved = drift[l] + bound;
            lanes |= static_cast<unsigned>(stored_value<T>(stored[l], bias) < (moved > least ? moved : least)) << l;
        }
        return lanes;
    }
};

// SSE2 on x86-64 (16 registers), NEON with fused multiply-add on arm64 (32 registers).
#if defined(__aarch64__)
using Baseline = PlainIsa<16, 6>;
#else
using Baseline = PlainIsa<16, 2>;
#endif

}  // namespace
}  // namespace coterie
