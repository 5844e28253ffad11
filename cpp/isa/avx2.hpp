#pragma once

#include <immintrin.h>

#include "coterie/machine/isa.hpp"

namespace coterie {
namespace {

// 16 registers: 6 rows x 2 of sums, 2 of a panel, the rest for the compiler.
struct Avx2 : PlainIsa<32, 6> {
    using PlainIsa<32, 6>::least;
    using PlainIsa<32, 6>::greatest;
    using Floats8 = VectorOf<float, 32>::Unaligned;
    using Doubles4 = VectorOf<double, 32>::Unaligned;

    using PlainIsa<32, 6>::doubles;
    static Vector<double> doubles(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }

    static Floats8 least(Floats8 a, Floats8 b) { return _mm256_min_ps(a, b); }
    static Floats8 greatest(Floats8 a, Floats8 b) { return _mm256_max_ps(a, b); }
    static Doubles4 least(Doubles4 a, Doubles4 b) { return _mm256_min_pd(a, b); }
    static Doubles4 greatest(Doubles4 a, Doubles4 b) { return _mm256_max_pd(a, b); }

    static bool any_below(Floats8 a, Floats8 b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)) != 0; }
    static bool any_below(Doubles4 a, Doubles4 b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ)) != 0; }

    static unsigned below(const float* scores, float bound) {
        const __m256 v = _mm256_set1_ps(bound);
        const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(scores), v, _CMP_LT_OQ));
        const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(scores + 8), v, _CMP_LT_OQ));
        return static_cast<unsigned>(low | high << 8);
    }
    static unsigned below(const double* scores, double bound) {
        const __m256d v = _mm256_set1_pd(bound);
        const int low = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_load_pd(scores), v, _CMP_LT_OQ));
        const int high = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_load_pd(scores + 4), v, _CMP_LT_OQ));
        return static_cast<unsigned>(low | high << 4);
    }

    // Two halves of a panel: the compiler makes a branch of each lane.
    static unsigned below_moved(const StoredBound* stored, BitsType<float> bias, float least, const float* drift,
                                float bound) {
        return moved_half(stored, bias, least, drift, bound) | moved_half(stored + 8, bias, least, drift + 8, bound) << 8;
    }
    static unsigned below_moved(const StoredBound* stored, BitsType<double> bias, double least, const double* drift,
                                double bound) {
        return moved_half(stored, bias, least, drift, bound) | moved_half(stored + 4, bias, least, drift + 4, bound) << 4;
    }

private:
    static unsigned moved_half(const StoredBound* stored, BitsType<float> bias, float least, const float* drift,
                               float bound) {
        const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(stored)));
        const __m256i biased = _mm256_slli_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(bias)), BitsOf<float>::kDropped);
        const __m256 moved = _mm256_add_ps(_mm256_loadu_ps(drift), _mm256_set1_ps(bound));
        const __m256 below = _mm256_cmp_ps(_mm256_castsi256_ps(biased), greatest(moved, _mm256_set1_ps(least)), _CMP_LT_OQ);
        return static_cast<unsigned>(_mm256_movemask_ps(below));
    }
    static unsigned moved_half(const StoredBound* stored, BitsType<double> bias, double least, const double* drift,
                               double bound) {
        const __m256i bits = _mm256_cvtepu16_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(stored)));
        const __m256i biased = _mm256_slli_epi64(_mm256_add_epi64(bits, _mm256_set1_epi64x(bias)), BitsOf<double>::kDropped);
        const __m256d moved = _mm256_add_pd(_mm256_loadu_pd(drift), _mm256_set1_pd(bound));
        const __m256d below = _mm256_cmp_pd(_mm256_castsi256_pd(biased), greatest(moved, _mm256_set1_pd(least)), _CMP_LT_OQ);
        return static_cast<unsigned>(_mm256_movemask_pd(below));
    }
};

}  // namespace
}  // namespace coterie
