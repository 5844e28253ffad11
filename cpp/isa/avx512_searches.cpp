#include "avx512.hpp"
#include "instantiate.hpp"

namespace coterie {
namespace {

// Two products of 7 bits are added in 16 bits, and two such sums, which fills them.
template <>
struct BytesOf<Avx512> {
    static constexpr bool kExists = true;
    static constexpr Index kLeastColumns = 24, kLeastCenters = 256, kLeastProducts = 24000, kBoundColumns = 192;
    static constexpr int kLevels = 63, kOffset = 63, kWords = 2, kRows = 6, kVectors = 3;
    using Ints = VectorOf<std::int32_t, 64>::Aligned;
    static Ints add_products(Ints sums, const Ints* columns, const Ints* words) {
        const __m512i pairs = _mm512_add_epi16(_mm512_maddubs_epi16((__m512i)columns[0], (__m512i)words[0]),
                                               _mm512_maddubs_epi16((__m512i)columns[1], (__m512i)words[1]));
        return sums + (Ints)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
    }
};

}  // namespace

SearchesOf<Number> avx512_searches(Number) { return searches_of<Avx512>(); }

}  // namespace coterie
