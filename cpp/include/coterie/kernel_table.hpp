// The kernels as function pointers: one table per instruction set, one of them chosen when the module is loaded.
#pragma once

#include "coterie/machine/views.hpp"

namespace coterie {

template <class T>
struct BoundedStep;
template <class T>
struct BoundedState;
template <class T>
struct Potential;
template <class T>
struct SumPanels;
template <class T>
struct SparseVotes;
template <class T>
struct SparseSums;
template <class T>
struct MixtureComponents;
template <class T>
struct TruncatedSearch;
template <class T>
struct Shares;
template <class T>
struct WeightedGraph;
template <class T>
struct MembershipUpdate;
template <class T>
struct FusionEdges;
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

struct FusionNorm;
struct FusionWindows;
struct Cells;
struct CellVisits;

template <class Rows>
struct RowKernels {
    using T = typename Rows::value_type;
    void (*nearest)(const Rows&, const Centers<T>&, Index, Index, std::int32_t*, T*, int);
    Index (*bounded_assign)(const Rows&, const Centers<T>&, const BoundedStep<T>&, const BoundedState<T>&, int);
    void (*add_to_clusters)(const Rows&, const std::int32_t*, const std::int32_t*, const T*, const double*, Index,
                            double*, double*, int);
    void (*own_square_distances)(const Rows&, const double*, const double*, const std::int32_t*, double*, int);
    void (*adopt_centers)(const Rows&, const Centers<T>&, std::int32_t, const T*, const Potential<T>&, double*, int);
    void (*candidate_gains)(const Rows&, const Centers<T>&, const T*, const Potential<T>&, double*, int);
    void (*adopt_candidate)(const Rows&, const Centers<T>&, Index, std::int32_t, const Potential<T>&, double*, int);
};

// Of sparse rows only.
template <class T>
struct SparseMeanKernels {
    void (*nearest_mean)(const CsrRows<T>&, const SumPanels<T>&, std::int32_t*, T*, int);
    void (*write_lanes)(const T*, const std::int32_t*, Index, Index, T*, Index, int);
    void (*write_sums)(const double*, const std::int32_t*, Index, Index, T*, Index, int);
    void (*take_votes)(const SparseVotes<T>&, const SparseSums<T>&, double*, double*, double*, int);
};

template <class T>
struct CenterKernels {
    void (*move_centers)(const double*, const double*, const double*, const T*, T*, Index, Index, int);
    void (*relate_centers)(const T*, const double*, T*, double*, T*, Index, Index, int);
    void (*compare_centers)(const T*, const T*, double*, double*, Index, Index, int);
    void (*compare_sums)(const double*, const T*, double*, double*, Index, Index, int);
};

// Of dense rows only.
template <class T>
struct MixtureKernels {
    Index (*search)(const DenseRows<T>&, const MixtureComponents<T>&, const TruncatedSearch<T>&, int);
    void (*refresh)(const DenseRows<T>&, const MixtureComponents<T>&, std::int32_t*, T*, Index, int);
    void (*posteriors)(const T*, Index, Index, T, T*, double*, int);
    void (*moments)(const DenseRows<T>&, const Shares<T>&, const T*, Index, double*, double*, double*, double*, int);
};

template <class T>
struct GraphKernels {
    Index (*update_memberships)(const WeightedGraph<T>&, const MembershipUpdate<T>&, double*, int);
};

// Of dense rows only.
template <class T>
struct ConvexKernels {
    void (*dual_step)(const FusionEdges<T>&, const FusionNorm&, const DualStep<T>&, int);
    void (*primal_points)(const FusionEdges<T>&, const PrimalPoints<T>&, const T*, Index, double*, int);
    void (*dual_sweep)(const FusionEdges<T>&, const FusionNorm&, const FusionWindows&, const DualStep<T>&,
                       const PrimalPoints<T>&, T*, double*, int);
    void (*fusion_penalty)(const FusionEdges<T>&, const FusionNorm&, T, const T*, const T*, double*, int);
    void (*split_lengths)(const FusionEdges<T>&, const FusionNorm&, T, const T*, const T*, T*, int);
    void (*join_ends)(const FusionEdges<T>&, const T*, T, T, std::int32_t*);
    Index (*number_sets)(std::int32_t*, std::int32_t*, Index);
    void (*set_means)(const T*, const std::int32_t*, Index, Index, Index, Index, Index, T*);
};

template <class T>
struct NeighborKernels {
    void (*nearest_apart)(const DenseRows<T>&, const T*, Index, const std::int32_t*, const std::int32_t*, Index,
                          std::int32_t*, T*, int);
    void (*nearest_in_cells)(const DenseRows<T>&, const Centers<T>&, const Cells&, const CellVisits&, Index,
                             std::int32_t*, T*, int);
};

template <class T>
struct TotalVariationKernels {
    double (*iterate)(const BlockedGraph<T>&, const PrimalDualState<T>&, const OuterStep<T>&, double, double, Index,
                      double*, int);
    void (*statistics)(const BlockedGraph<T>&, const T*, Index, Index, Index, const ColumnStatistics<T>&, int);
};

struct KernelTable {
    const char* instruction_set;
    CenterKernels<float> center_float;
    CenterKernels<double> center_double;
    RowKernels<DenseRows<float>> dense_float;
    RowKernels<DenseRows<double>> dense_double;
    RowKernels<CsrRows<float>> sparse_float;
    RowKernels<CsrRows<double>> sparse_double;
    SparseMeanKernels<float> sparse_mean_float;
    SparseMeanKernels<double> sparse_mean_double;
    MixtureKernels<float> mixture_float;
    MixtureKernels<double> mixture_double;
    GraphKernels<float> graph_float;
    GraphKernels<double> graph_double;
    NeighborKernels<float> neighbor_float;
    NeighborKernels<double> neighbor_double;
    ConvexKernels<float> convex_float;
    ConvexKernels<double> convex_double;
    TotalVariationKernels<float> total_variation_float;
    TotalVariationKernels<double> total_variation_double;

    template <class T>
    const ConvexKernels<T>& convex() const {
        if constexpr (__is_same(T, float)) return convex_float;
        else return convex_double;
    }

    template <class T>
    const TotalVariationKernels<T>& total_variation() const {
        if constexpr (__is_same(T, float)) return total_variation_float;
        else return total_variation_double;
    }

    template <class T>
    const NeighborKernels<T>& neighbors() const {
        if constexpr (__is_same(T, float)) return neighbor_float;
        else return neighbor_double;
    }

    template <class T>
    const GraphKernels<T>& graphs() const {
        if constexpr (__is_same(T, float)) return graph_float;
        else return graph_double;
    }

    template <class T>
    const MixtureKernels<T>& mixtures() const {
        if constexpr (__is_same(T, float)) return mixture_float;
        else return mixture_double;
    }

    template <class T>
    const SparseMeanKernels<T>& sparse_means() const {
        if constexpr (__is_same(T, float)) return sparse_mean_float;
        else return sparse_mean_double;
    }

    template <class T>
    const CenterKernels<T>& centers() const {
        if constexpr (__is_same(T, float)) return center_float;
        else return center_double;
    }

    template <class Rows>
    const RowKernels<Rows>& of() const {
        if constexpr (__is_same(Rows, DenseRows<float>)) return dense_float;
        else if constexpr (__is_same(Rows, DenseRows<double>)) return dense_double;
        else if constexpr (__is_same(Rows, CsrRows<float>)) return sparse_float;
        else return sparse_double;
    }
};

// Defined in cpp/isa, one per compiled file. Only those of the target architecture exist.
extern const KernelTable kBaselineKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;

}  // namespace coterie
