// The kernels as function pointers: a table per instruction set, one of them chosen when the module is loaded.
// A field has the name of its kernel, whose header documents the arguments.
#pragma once

#include "coterie/machine/views.hpp"

namespace coterie {

template <class T>
struct Centers;
template <class T>
struct ExactCenters;
struct Assigned;
enum class Filter;
template <class T>
struct ScaledCenters;
template <class T>
struct BoundedStep;
template <class T>
struct BoundedState;
template <class T>
struct RunningMeans;
template <class T>
struct MeanBatches;
template <class T>
struct Reach;
template <class T>
struct Pairs;
template <class T>
struct CellPanels;
struct CellVisits;
template <class T>
struct NearBlock;
struct NearLists;
struct Candidates;
template <class T>
struct TruncatedSearch;
template <class T>
struct Shares;
template <class T>
struct FactorComponents;
struct FactorMoments;
template <class T>
struct WeightedGraph;
template <class T>
struct MembershipUpdate;
template <class T>
struct FusionEdges;
struct FusionNorm;
struct FusionWindows;
template <class T>
struct DualStep;
template <class T>
struct PrimalPoints;
template <class T>
struct BlockedGraph;
template <class T>
struct PrimalDualState;
template <class T>
struct OuterStep;
template <class T>
struct ColumnStatistics;
template <class T>
struct BoxTree;
template <class T>
struct ReachableSearch;

// Of dense or of sparse rows.
template <class Rows>
struct RowKernels {
    using T = typename Rows::value_type;
    // centers
    void (*nearest)(const Rows&, const Centers<T>&, Index, Index, std::int32_t*, T*, int);
    void (*add_to_clusters)(const Rows&, const std::int32_t*, const std::int32_t*, const T*, const double*, Index,
                            double*, double*, int);
    void (*own_square_distances)(const Rows&, const double*, const double*, const std::int32_t*, double*, int);
    // seeding
    void (*pairs_in_reach)(const Rows&, const Centers<T>&, const Reach<T>&, Pairs<T>&, int);
};

template <class T>
struct KernelsOf {
    RowKernels<DenseRows<T>> dense_rows;
    RowKernels<CsrRows<T>> sparse_rows;
    // centers
    void (*move_centers)(const double*, const double*, const double*, const T*, T*, Index, Index, int);
    void (*relate_centers)(const T*, const double*, T*, double*, T*, Index, Index, int);
    void (*move_means_by_sums)(const RunningMeans<T>&, const double*, const double*, double, int);
    void (*compare_centers)(const T*, const T*, double*, double*, Index, Index, int);
    void (*compare_centers_of_doubles)(const double*, const T*, double*, double*, Index, Index, int);
    void (*distances_to_listed)(const DenseRows<T>&, const ScaledCenters<T>&, Index, std::int32_t*, T*, int);
    void (*least_of_lists)(const std::int32_t*, const T*, Index, Index, const double*, std::int32_t*, double*,
                        std::int32_t*, double*, int);
    // graphs
    void (*nearest_apart)(const DenseRows<T>&, const T*, Index, const std::int32_t*, const std::int32_t*, Index,
                          std::int32_t*, T*, int);
    void (*products)(const DenseRows<T>&, const Centers<T>&, T*, int);
    void (*cells_in_reach)(const DenseRows<T>&, const Centers<T>&, const T*, T, std::int32_t*, std::uint16_t*, int);
    void (*nearest_in_cells)(const DenseRows<T>&, const CellPanels<T>&, const CellVisits&, Index, std::int32_t*, T*, int);
    void (*nearest_of_candidates)(const DenseRows<T>&, const T*, Index, const Candidates&, bool, Index, std::int32_t*,
                                  T*, int);
    void (*box_tree)(const T*, const BoxTree<T>&, int);
    void (*nearest_reachable)(const BoxTree<T>&, const ReachableSearch<T>&, std::int32_t*, T*, int);
    // mixture
    Index (*truncated_search)(const DenseRows<T>&, const ScaledCenters<T>&, const TruncatedSearch<T>&, int);
    void (*truncated_posteriors)(const T*, Index, Index, T, T*, double*, int);
    void (*mixture_moments)(const DenseRows<T>&, const Shares<T>&, const T*, Index, double*, double*, double*, double*,
                            int);
    Index (*factor_search)(const DenseRows<T>&, const FactorComponents<T>&, const TruncatedSearch<T>&, int);
    void (*factor_energies)(const DenseRows<T>&, const FactorComponents<T>&, const std::int32_t*, Index, T*, int);
    void (*factor_energies_of_listed)(const DenseRows<T>&, const FactorComponents<T>&, Index, std::int32_t*, T*, int);
    void (*factor_moments)(const DenseRows<T>&, const std::int32_t*, const T*, const T*, Index,
                           const FactorComponents<T>&, const FactorMoments&, int);
    // laplacian_kmodes
    Index (*update_memberships)(const WeightedGraph<T>&, const MembershipUpdate<T>&, double*, int);
    // convex
    void (*dual_step)(const FusionEdges<T>&, const FusionNorm&, const DualStep<T>&, int);
    void (*primal_points)(const FusionEdges<T>&, const PrimalPoints<T>&, const T*, Index, double*, int);
    void (*dual_ascent)(const FusionEdges<T>&, const DualStep<T>&, const PrimalPoints<T>&, Index, double*, int);
    void (*dual_sweep)(const FusionEdges<T>&, const FusionNorm&, const FusionWindows&, const DualStep<T>&,
                       const PrimalPoints<T>&, T*, double*, int);
    void (*fusion_penalty)(const FusionEdges<T>&, const FusionNorm&, T, const T*, const T*, double*, int);
    void (*split_lengths)(const FusionEdges<T>&, const FusionNorm&, T, const T*, const T*, T*, int);
    // total_variation
    double (*iterate_primal_dual)(const BlockedGraph<T>&, const PrimalDualState<T>&, const OuterStep<T>&, double,
                                  double, Index, double*, int);
    void (*column_statistics)(const BlockedGraph<T>&, const T*, Index, Index, const Index*, const ColumnStatistics<T>&,
                              int);
};

// See quantized.hpp.
struct ByteLimits {
    Index least_columns, least_centers, least_products, bound_columns;
};

template <class Rows>
struct RowSearches {
    using T = typename Rows::value_type;
    void (*assign)(const Rows&, const ExactCenters<T>&, Filter, const Assigned&, int);
    Index (*bounded_assign)(const Rows&, const ExactCenters<T>&, const BoundedStep<T>&, const BoundedState<T>&, int);
};

// Those by products of bytes, where the instruction set has such products.
template <class T>
struct SearchesOf {
    RowSearches<DenseRows<T>> dense_rows;
    RowSearches<CsrRows<T>> sparse_rows;
    void (*take_batches)(const RunningMeans<T>&, const MeanBatches<T>&, int);
    void (*nearest_by_bytes)(const NearBlock<T>&, const NearBlock<T>&, T, bool, const NearLists&, int);
    ByteLimits byte_limits;
};

struct KernelTable {
    const char* instruction_set;
    const KernelsOf<float>& single_precision;
    const KernelsOf<double>& double_precision;
    const SearchesOf<float>& single_searches;
    const SearchesOf<double>& double_searches;

    template <class T>
    const KernelsOf<T>& of() const {
        if constexpr (__is_same(T, float)) return single_precision;
        else return double_precision;
    }
    template <class T>
    const SearchesOf<T>& searches() const {
        if constexpr (__is_same(T, float)) return single_searches;
        else return double_searches;
    }
    template <class Rows>
    const RowSearches<Rows>& row_searches() const {
        using T = typename Rows::value_type;
        if constexpr (__is_same(Rows, DenseRows<T>)) return searches<T>().dense_rows;
        else return searches<T>().sparse_rows;
    }
    template <class Rows>
    const RowKernels<Rows>& of_rows() const {
        using T = typename Rows::value_type;
        if constexpr (__is_same(Rows, DenseRows<T>)) return of<T>().dense_rows;
        else return of<T>().sparse_rows;
    }
};

// Defined in cpp/isa, as far as they are compiled. The argument tells the types of numbers apart.
const KernelsOf<float>& baseline_kernels(float);
const KernelsOf<double>& baseline_kernels(double);
const KernelsOf<float>& avx2_kernels(float);
const KernelsOf<double>& avx2_kernels(double);
const KernelsOf<float>& avx512_kernels(float);
const KernelsOf<double>& avx512_kernels(double);
const SearchesOf<float>& baseline_searches(float);
const SearchesOf<double>& baseline_searches(double);
const SearchesOf<float>& avx2_searches(float);
const SearchesOf<double>& avx2_searches(double);
const SearchesOf<float>& avx512_searches(float);
const SearchesOf<double>& avx512_searches(double);
const SearchesOf<float>& avx512vnni_searches(float);
const SearchesOf<double>& avx512vnni_searches(double);
const SearchesOf<float>& dotprod_searches(float);
const SearchesOf<double>& dotprod_searches(double);

}  // namespace coterie
