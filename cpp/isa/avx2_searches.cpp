#include "avx2.hpp"
#include "instantiate.hpp"

namespace coterie {
namespace {

// Two products of 7 bits are added in 16 bits, and two such sums, which fills them.
template <>
struct BytesOf<Avx2> {
    static constexpr bool kExists = true;
    static constexpr Index kLeastColumns = 24, kLeastCenters = 256, kLeastProducts = 11000, kBoundColumns = 192;
    static constexpr int kLevels = 63, kOffset = 63, kWords = 2, kRows = 4, kVectors = 2;
    using Ints = VectorOf<std::int32_t, 32>::Aligned;
    static Ints add_products(Ints sums, const Ints* columns, const Ints* words) {
        const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16((__m256i)columns[0], (__m256i)words[0]),
                                               _mm256_maddubs_epi16((__m256i)columns[1], (__m256i)words[1]));
        return sums + (Ints)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    }
};

}  // namespace

SearchesOf<Number> avx2_searches(Number) { return searches_of<Avx2>(); }

}  // namespace coterie
