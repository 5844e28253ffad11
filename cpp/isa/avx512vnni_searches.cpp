// Other kernels are those of AVX-512.
#include "avx512.hpp"
#include "instantiate.hpp"

namespace coterie {
namespace {

struct Avx512Vnni : Avx512 {};

template <>
struct BytesOf<Avx512Vnni> {
    static constexpr bool kExists = true;
    static constexpr Index kLeastColumns = 12, kLeastCenters = 128, kLeastProducts = 10000, kBoundColumns = kMostByteColumns + 1;
    static constexpr int kLevels = 127, kOffset = 128, kWords = 1, kRows = 6, kVectors = 4;
    using Ints = VectorOf<std::int32_t, 64>::Aligned;
    static Ints add_products(Ints sums, const Ints* columns, const Ints* words) {
        return (Ints)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)columns[0], (__m512i)words[0]);
    }
};

}  // namespace

SearchesOf<Number> avx512vnni_searches(Number) { return searches_of<Avx512Vnni>(); }

}  // namespace coterie
