// Lower bounds of distances in 16 bits: the last five bits of the exponent and eleven of the fraction, rounded down.
//
// Bounds are read for every row in every pass and take most of the memory of a fit. Rounding lowers a bound by at most
// a two thousandth: a few more rows are compared, and no label changes.
#pragma once

#include "coterie/machine/numbers.hpp"

namespace coterie {

using StoredBound = std::uint16_t;

// The bits of a number, and how many of the last ones are not stored.
template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
    using Type = std::int32_t;
    static constexpr int kDropped = 12;
};
template <>
struct BitsOf<double> {
    using Type = std::int64_t;
    static constexpr int kDropped = 41;
};
template <class T>
using BitsType = typename BitsOf<T>::Type;

namespace {

// With it the greatest stored bound is the greatest number below infinity.
template <class T>
constexpr BitsType<T> greatest_bias() {
    return sizeof(T) == 4 ? static_cast<BitsType<T>>(0x7f7ff - 65535)
                          : static_cast<BitsType<T>>((0x7fefffffffffffffLL >> BitsOf<T>::kDropped) - 65535);
}

inline constexpr StoredBound kNoBound = 0, kEndlessBound = 65535;

// IN bounds >= 0 (W of them), bias: what the bits of the least that can be stored begin with; OUT stored. Bounds below
// the least are stored as none, those above the greatest as that.
template <class T, Index W>
inline __attribute__((always_inline)) void store_bounds(const T* bounds, BitsType<T> bias,
                                                        StoredBound* stored) {
    using Bits = BitsType<T>;
    for (Index l = 0; l < W; ++l) {
        Bits bits;
        __builtin_memcpy(&bits, bounds + l, sizeof(T));
        bits = (bits >> BitsOf<T>::kDropped) - bias;
        bits = bits < 0 ? 0 : bits > kEndlessBound ? kEndlessBound : bits;
        stored[l] = static_cast<StoredBound>(bits);
    }
}

template <class T>
inline StoredBound store_bound(T bound, BitsType<T> bias) {
    StoredBound stored;
    store_bounds<T, 1>(&bound, bias, &stored);
    return stored;
}

// At most the bound that was stored; 0 is no bound.
template <class T>
inline T stored_value(BitsType<T> stored, BitsType<T> bias) {
    const BitsType<T> bits = (stored + bias) << BitsOf<T>::kDropped;
    T bound;
    __builtin_memcpy(&bound, &bits, sizeof(T));
    return bound;
}

}  // namespace
}  // namespace coterie
