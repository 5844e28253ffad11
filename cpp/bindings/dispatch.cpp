#include "dispatch.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include <atomic>
#include <stdexcept>

namespace coterie {
namespace {

#if defined(__x86_64__)
struct Processor {
    bool avx2 = false, avx512 = false, avx512vnni = false;
};

// By the CPUID instruction: __builtin_cpu_supports reads a table of the compiler's runtime library, which is empty with
// Zig. Then whether the system saves the registers: 0x06 are those of AVX, 0xe0 what AVX-512 adds.
Processor this_processor() {
    Processor found;
    unsigned a, b, c, d, saved, unused;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return found;
    const bool fma = c & bit_FMA;
    __asm__("xgetbv" : "=a"(saved), "=d"(unused) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
    constexpr unsigned kAvx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    found.avx2 = fma && (b & bit_AVX2) && (saved & 0x06) == 0x06;
    found.avx512 = found.avx2 && (b & kAvx512) == kAvx512 && (saved & 0xe0) == 0xe0;
    found.avx512vnni = found.avx512 && (c & bit_AVX512VNNI);
    return found;
}
#elif defined(COTERIE_COMPILED_dotprod)
// All of Apple's 64-bit processors for macOS have dot products; other systems tell.
bool has_dotprod() {
#if defined(__linux__)
    constexpr unsigned long kDotprod = 1UL << 20;  // HWCAP_ASIMDDP
    return getauxval(AT_HWCAP) & kDotprod;
#else
    return true;
#endif
}
#endif

#if defined(__aarch64__)
[[maybe_unused]] constexpr const char* kBaseline = "neon";
#else
[[maybe_unused]] constexpr const char* kBaseline = "baseline";
#endif

// Best first.
const std::vector<KernelTable>& runnable_tables() {
    static const std::vector<KernelTable> tables = [] {
        std::vector<KernelTable> found;
#if defined(COTERIE_COMPILED_avx512vnni)
        if (this_processor().avx512vnni)
            found.push_back({"avx512vnni", {avx512_kernels(float()), avx512vnni_searches(float())},
                             {avx512_kernels(double()), avx512vnni_searches(double())}});
#endif
#if defined(COTERIE_COMPILED_avx512)
        if (this_processor().avx512)
            found.push_back({"avx512", {avx512_kernels(float()), avx512_searches(float())},
                             {avx512_kernels(double()), avx512_searches(double())}});
#endif
#if defined(COTERIE_COMPILED_avx2)
        if (this_processor().avx2)
            found.push_back({"avx2", {avx2_kernels(float()), avx2_searches(float())},
                             {avx2_kernels(double()), avx2_searches(double())}});
#endif
#if defined(COTERIE_COMPILED_dotprod)
        if (has_dotprod())
            found.push_back({"dotprod", {baseline_kernels(float()), dotprod_searches(float())},
                             {baseline_kernels(double()), dotprod_searches(double())}});
#endif
#if defined(COTERIE_COMPILED_baseline)
        found.push_back({kBaseline, {baseline_kernels(float()), baseline_searches(float())},
                         {baseline_kernels(double()), baseline_searches(double())}});
#endif
        if (found.empty()) throw std::runtime_error("coterie was compiled for another processor: install it here again");
        return found;
    }();
    return tables;
}

std::atomic<const KernelTable*>& current_table() {
    static std::atomic<const KernelTable*> table{&runnable_tables().front()};
    return table;
}

}  // namespace

const KernelTable& kernels() { return *current_table().load(); }

std::vector<std::string> available_instruction_sets() {
    std::vector<std::string> names;
    for (const KernelTable& table : runnable_tables()) names.emplace_back(table.instruction_set);
    return names;
}

void use_instruction_set(const std::string& name) {
    for (const KernelTable& table : runnable_tables())
        if (name == table.instruction_set) return current_table().store(&table);
    throw std::invalid_argument("instruction set '" + name + "' is not available on this machine");
}

}  // namespace coterie
