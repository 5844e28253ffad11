// exp of whole vectors, for softmaxes: arguments at most 0.
#pragma once

#include "coterie/machine/numbers.hpp"

namespace coterie {
namespace {

// exp(x) = 2^n exp(r), |r| <= log(2) / 2. The series is cut where it ends to change the last bit.
template <class T>
struct ExponentialParts;

template <>
struct ExponentialParts<float> {
    using Integer = std::int32_t;
    static constexpr float kLowest = -87.0f, kLog2High = 0.693359375f, kLog2Low = -2.12194440e-4f;
    static constexpr int kMantissa = 23, kBias = 127, kTerms = 7;
};

template <>
struct ExponentialParts<double> {
    using Integer = std::int64_t;
    static constexpr double kLowest = -708.0, kLog2High = 6.93145751953125e-1, kLog2Low = 1.42860682030941723212e-6;
    static constexpr int kMantissa = 52, kBias = 1023, kTerms = 13;
};

// exp(x) for x <= 0, lane by lane; 0 below the smallest normal number. To about one unit in the last place.
template <class T, class V>
inline __attribute__((always_inline)) V exponential_of_negative(V x) {
    using Parts = ExponentialParts<T>;
    typedef typename Parts::Integer Integers __attribute__((vector_size(sizeof(V))));
    const V zero = V{};
    const V lowest = zero + Parts::kLowest;
    const V bounded = x < lowest ? lowest : x;
    const Integers n = __builtin_convertvector(bounded * static_cast<T>(1.4426950408889634074) - static_cast<T>(0.5), Integers);
    const V whole = __builtin_convertvector(n, V);
    const V r = (bounded - whole * Parts::kLog2High) - whole * Parts::kLog2Low;
    V sum = zero + 1;
#pragma GCC unroll 16
    for (int k = Parts::kTerms; k > 0; --k) sum = sum * r * static_cast<T>(1.0 / k) + 1;
    const Integers power = (n + Parts::kBias) << Parts::kMantissa;
    V scale;
    __builtin_memcpy(&scale, &power, sizeof(V));
    return x < lowest ? zero : sum * scale;
}

}  // namespace
}  // namespace coterie
