#pragma once

#include <immintrin.h>

#include "coterie/machine/isa.hpp"

namespace coterie {
namespace {

// 32 registers: 24 rows of sums, 4 of a panel, the rest for the compiler.
struct Avx512 : PlainIsa<64, 24> {
    using PlainIsa<64, 24>::least;
    using PlainIsa<64, 24>::greatest;
    using Floats16 = VectorOf<float, 64>::Unaligned;
    using Doubles8 = VectorOf<double, 64>::Unaligned;
    using Floats8 = VectorOf<float, 32>::Unaligned;
    using Doubles4 = VectorOf<double, 32>::Unaligned;

    using PlainIsa<64, 24>::doubles;
    static Vector<double> doubles(const float* from) { return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(from)); }

    static Floats8 least(Floats8 a, Floats8 b) { return _mm256_min_ps(a, b); }
    static Floats8 greatest(Floats8 a, Floats8 b) { return _mm256_max_ps(a, b); }
    static Doubles4 least(Doubles4 a, Doubles4 b) { return _mm256_min_pd(a, b); }
    static Doubles4 greatest(Doubles4 a, Doubles4 b) { return _mm256_max_pd(a, b); }
    static Floats16 least(Floats16 a, Floats16 b) { return _mm512_maskz_min_ps(0xffff, a, b); }
    static Floats16 greatest(Floats16 a, Floats16 b) { return _mm512_maskz_max_ps(0xffff, a, b); }
    static Doubles8 least(Doubles8 a, Doubles8 b) { return _mm512_maskz_min_pd(0xff, a, b); }
    static Doubles8 greatest(Doubles8 a, Doubles8 b) { return _mm512_maskz_max_pd(0xff, a, b); }

    static bool any_below(Floats16 a, Floats16 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ) != 0; }
    static bool any_below(Doubles8 a, Doubles8 b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ) != 0; }

    static unsigned below(const float* scores, float bound) {
        return _mm512_cmp_ps_mask(_mm512_load_ps(scores), _mm512_set1_ps(bound), _CMP_LT_OQ);
    }
    static unsigned below(const double* scores, double bound) {
        return _mm512_cmp_pd_mask(_mm512_load_pd(scores), _mm512_set1_pd(bound), _CMP_LT_OQ);
    }
    static unsigned below_moved(const StoredBound* stored, BitsType<float> bias, float least, const float* drift,
                                float bound) {
        const __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(stored)));
        const __m512i biased = _mm512_slli_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(bias)), BitsOf<float>::kDropped);
        const __m512 moved = _mm512_add_ps(_mm512_loadu_ps(drift), _mm512_set1_ps(bound));
        return _mm512_cmp_ps_mask(_mm512_castsi512_ps(biased), greatest(moved, _mm512_set1_ps(least)), _CMP_LT_OQ);
    }
    static unsigned below_moved(const StoredBound* stored, BitsType<double> bias, double least, const double* drift,
                                double bound) {
        const __m512i bits = _mm512_cvtepu16_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(stored)));
        const __m512i biased = _mm512_slli_epi64(_mm512_add_epi64(bits, _mm512_set1_epi64(bias)), BitsOf<double>::kDropped);
        const __m512d moved = _mm512_add_pd(_mm512_loadu_pd(drift), _mm512_set1_pd(bound));
        return _mm512_cmp_pd_mask(_mm512_castsi512_pd(biased), greatest(moved, _mm512_set1_pd(least)), _CMP_LT_OQ);
    }
};

}  // namespace
}  // namespace coterie
