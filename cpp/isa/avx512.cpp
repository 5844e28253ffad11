#include <immintrin.h>

#include "instantiate.hpp"

namespace coterie {
namespace {

// 32 registers: 24 rows of sums, 4 of a panel, the rest for the compiler.
struct Avx512 : PlainIsa<64, 24> {
    static unsigned below(const float* scores, float bound) {
        return _mm512_cmp_ps_mask(_mm512_load_ps(scores), _mm512_set1_ps(bound), _CMP_LT_OQ);
    }
    static unsigned below(const double* scores, double bound) {
        return _mm512_cmp_pd_mask(_mm512_load_pd(scores), _mm512_set1_pd(bound), _CMP_LT_OQ);
    }
    static unsigned below_in_half(const float* scores, float bound) {
        return _mm256_cmp_ps_mask(_mm256_load_ps(scores), _mm256_set1_ps(bound), _CMP_LT_OQ);
    }
    static unsigned below_in_half(const double* scores, double bound) {
        return _mm256_cmp_pd_mask(_mm256_load_pd(scores), _mm256_set1_pd(bound), _CMP_LT_OQ);
    }
    static unsigned below_moved(const float* values, const float* drift, float bound) {
        const __m512 bounds = _mm512_add_ps(_mm512_loadu_ps(drift), _mm512_set1_ps(bound));
        return _mm512_cmp_ps_mask(_mm512_loadu_ps(values), bounds, _CMP_LT_OQ);
    }
    static unsigned below_moved(const double* values, const double* drift, double bound) {
        const __m512d bounds = _mm512_add_pd(_mm512_loadu_pd(drift), _mm512_set1_pd(bound));
        return _mm512_cmp_pd_mask(_mm512_loadu_pd(values), bounds, _CMP_LT_OQ);
    }
    static float minimum(const float* scores) { return _mm512_reduce_min_ps(_mm512_load_ps(scores)); }
    static double minimum(const double* scores) { return _mm512_reduce_min_pd(_mm512_load_pd(scores)); }
};

}  // namespace

constinit const KernelTable kAvx512Kernels = kernel_table<Avx512>("avx512");

}  // namespace coterie
