// Order statistics.
#pragma once

#include "coterie/machine/numbers.hpp"

namespace coterie {
namespace {

// Numbers as unsigned integers in the same order.
template <class T>
struct OrderedBits;

template <>
struct OrderedBits<float> {
    using Key = std::uint32_t;
    static constexpr int kBits = 32;
};

template <>
struct OrderedBits<double> {
    using Key = std::uint64_t;
    static constexpr int kBits = 64;
};

template <class T, class Key = typename OrderedBits<T>::Key>
inline Key ordered_key(T value) {
    Key bits;
    value += 0;  // -0 becomes 0
    __builtin_memcpy(&bits, &value, sizeof(bits));
    const Key sign = Key(1) << (OrderedBits<T>::kBits - 1);
    return bits & sign ? ~bits : bits | sign;
}

template <class T, class Key = typename OrderedBits<T>::Key>
inline T value_of_key(Key key) {
    const Key sign = Key(1) << (OrderedBits<T>::kBits - 1);
    const Key bits = key & sign ? key & ~sign : ~key;
    T value;
    __builtin_memcpy(&value, &bits, sizeof(bits));
    return value;
}

inline constexpr int kDigitBits = 11;

// The value that `rank` others are not smaller than (rank 0: the largest), by radix selection: digit after digit, only
// the keys that share the digits so far are read again. keys: n, scratch; counts: 2^kDigitBits, scratch.
template <class T, class Key = typename OrderedBits<T>::Key>
T select_largest(const T* values, Index n, Index rank, Key* keys, Index* counts) {
    for (Index i = 0; i < n; ++i) keys[i] = ordered_key(values[i]);
    for (int bits = OrderedBits<T>::kBits; bits > 0;) {
        const int digit_bits = bits < kDigitBits ? bits : kDigitBits;
        bits -= digit_bits;
        const Key mask = (Key(1) << digit_bits) - 1;
        for (Index d = 0; d <= static_cast<Index>(mask); ++d) counts[d] = 0;
        for (Index i = 0; i < n; ++i) ++counts[keys[i] >> bits & mask];
        Index digit = static_cast<Index>(mask);
        for (; rank >= counts[digit]; --digit) rank -= counts[digit];
        Index kept = 0;
        for (Index i = 0; i < n; ++i)
            if (static_cast<Index>(keys[i] >> bits & mask) == digit) keys[kept++] = keys[i];
        n = kept;
    }
    return value_of_key<T>(keys[0]);
}

}  // namespace
}  // namespace coterie
