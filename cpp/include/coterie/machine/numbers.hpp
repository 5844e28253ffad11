// Sizes, limits and functions of them.
#pragma once

#include <cstdint>

namespace coterie {

using Index = std::int64_t;

inline constexpr Index kQuantum = 256;   // rows per partial sum; blocks of rows are cut at its multiples
inline constexpr Index kLineBytes = 64;  // of a cache line

namespace {

// Numbers in a cache line, whatever the width of a register.
template <class T>
inline constexpr Index kLanes = kLineBytes / static_cast<Index>(sizeof(T));

template <class T>
constexpr T infinity() {
    return static_cast<T>(__builtin_inf());
}

template <class T>
constexpr T epsilon() {
    return static_cast<T>(__is_same(T, float) ? __FLT_EPSILON__ : __DBL_EPSILON__);
}

template <class T>
constexpr T smallest_normal() {
    return static_cast<T>(__is_same(T, float) ? __FLT_MIN__ : __DBL_MIN__);
}

template <class T>
inline T square_root(T x) {
    if constexpr (sizeof(T) == 4) return __builtin_sqrtf(x > 0 ? x : 0);
    else return __builtin_sqrt(x > 0 ? x : 0);
}

inline Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }
inline Index min_index(Index a, Index b) { return a < b ? a : b; }
inline Index max_index(Index a, Index b) { return a > b ? a : b; }

}  // namespace
}  // namespace coterie
