// The kernels of truncated Gaussian mixtures: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "centers.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

template <class T>
using In3 = ArrayOf<const T, 3>;
template <class T>
using Out3 = ArrayOf<T, 3>;

// Checks the arguments of a search with n_rows rows and n components.
template <class T>
TruncatedSearch<T> checked_search(Index n_rows, Index n, const Out2<std::int32_t>& candidates, const Out2<T>& energies,
                                  const Out2<std::int32_t>& neighbors, const std::optional<In1<std::int32_t>>& extra,
                                  Index group_size, bool update_neighbors, bool regroup) {
    const Index m = static_cast<Index>(candidates.shape(1)), n_neighbors = static_cast<Index>(neighbors.shape(1));
    require(m >= 1 && m <= n, "the number of candidates must be between 1 and that of components");
    require(n_neighbors >= 1 && n_neighbors <= n, "the number of neighbors must be between 1 and that of components");
    require_size(candidates, n_rows * m, "candidates has the wrong shape");
    require_size(energies, n_rows * m, "energies has the wrong shape");
    require_size(neighbors, n * n_neighbors, "neighbors has the wrong shape");
    require(group_size >= 1 && group_size <= 512, "group_size is out of range");
    require_between(candidates, 0, n, "a candidate is out of range");
    require_between(neighbors, 0, n, "a neighbor is out of range");
    for (Index c = 0; c < n; ++c)
        require(neighbors.data()[c * n_neighbors] == c, "neighbors do not begin with the component itself");
    if (extra) {
        require_size(*extra, n_rows, "one extra component per row is needed");
        require_between(*extra, 0, n, "an extra component is out of range");
    }
    return {candidates.data(), energies.data(), m, neighbors.data(), n_neighbors, data_or_null(extra), group_size,
            update_neighbors,  regroup};
}

template <class T>
Index truncated_search(const DenseBlock<T>& rows, In2<T> means, std::optional<In2<T>> scales, In1<T> precisions,
                       In1<T> offsets, Out2<std::int32_t> candidates, Out2<T> energies, Out2<std::int32_t> neighbors,
                       std::optional<In1<std::int32_t>> extra, Index group_size, bool update_neighbors,
                       bool regroup, int n_threads) {
    const DenseRows<T> x = rows.view();
    const ScaledCenters<T> components = scaled_centers_view(means, scales, precisions, offsets, x.n_columns);
    const TruncatedSearch<T> search = checked_search(x.n_rows, components.n_centers, candidates, energies, neighbors,
                                                     extra, group_size, update_neighbors, regroup);
    return kernels().of<T>().truncated_search(x, components, search, n_threads);
}

template <class T>
FactorComponents<T> factor_components_view(const In2<T>& means, const In2<T>& scales, const In3<T>& directions,
                                           const std::optional<In2<T>>& shrinkages,
                                           const std::optional<In1<T>>& offsets, Index n_columns) {
    const Index n = static_cast<Index>(means.shape(0)), h = static_cast<Index>(directions.shape(1));
    require(static_cast<Index>(means.shape(1)) == n_columns, "means and rows differ in width");
    require(n >= 1, "no components");
    require_size(scales, n * n_columns, "scales and means differ in shape");
    require(static_cast<Index>(directions.shape(0)) == n, "directions of each component are needed");
    require(static_cast<Index>(directions.shape(2)) == ceil_div(n_columns, kLanes<T>) * kLanes<T>,
            "directions must be padded to whole cache lines");
    if (shrinkages) require_size(*shrinkages, n * h, "one shrinkage per direction is needed");
    if (offsets) require_size(*offsets, n, "one offset per component is needed");
    return {means.data(), scales.data(), directions.data(), data_or_null(shrinkages), data_or_null(offsets), n,
            n_columns,    h};
}

template <class T>
Index factor_search(const DenseBlock<T>& rows, In2<T> means, In2<T> scales, In3<T> directions, In2<T> shrinkages,
                    In1<T> offsets, Out2<std::int32_t> candidates, Out2<T> energies, Out2<std::int32_t> neighbors,
                    std::optional<In1<std::int32_t>> extra, Index group_size, bool update_neighbors, bool regroup,
                    int n_threads) {
    const DenseRows<T> x = rows.view();
    const auto components = factor_components_view<T>(means, scales, directions, shrinkages, offsets, x.n_columns);
    const TruncatedSearch<T> search = checked_search(x.n_rows, components.n_components, candidates, energies,
                                                     neighbors, extra, group_size, update_neighbors, regroup);
    return kernels().of<T>().factor_search(x, components, search, n_threads);
}

template <class T>
void factor_energies(const DenseBlock<T>& rows, In2<T> means, In2<T> scales, In3<T> directions, In2<T> shrinkages,
                     In1<T> offsets, In1<std::int32_t> ids, Out2<T> energies, int n_threads) {
    const DenseRows<T> x = rows.view();
    const auto components = factor_components_view<T>(means, scales, directions, shrinkages, offsets, x.n_columns);
    const Index m = static_cast<Index>(ids.shape(0));
    require_between(ids, 0, components.n_components, "a component is out of range");
    require_size(energies, x.n_rows * m, "energies has the wrong shape");
    kernels().of<T>().factor_energies(x, components, ids.data(), m, energies.data(), n_threads);
}

template <class T>
void factor_energies_of_listed(const DenseBlock<T>& rows, In2<T> means, In2<T> scales, In3<T> directions,
                               In2<T> shrinkages, In1<T> offsets, Out2<std::int32_t> ids, Out2<T> energies,
                               int n_threads) {
    const DenseRows<T> x = rows.view();
    const auto components = factor_components_view<T>(means, scales, directions, shrinkages, offsets, x.n_columns);
    const Index m = static_cast<Index>(ids.shape(1));
    require(m >= 1, "no components are listed");
    require_size(ids, x.n_rows * m, "ids has the wrong shape");
    require_size(energies, x.n_rows * m, "energies has the wrong shape");
    require_between(ids, 0, components.n_components, "a component is out of range");
    kernels().of<T>().factor_energies_of_listed(x, components, m, ids.data(), energies.data(), n_threads);
}

template <class T>
void factor_moments(const DenseBlock<T>& rows, In2<std::int32_t> candidates, In2<T> shares,
                    std::optional<In1<T>> weights, In2<T> means, In2<T> scales, In3<T> directions, Out1<double> masses,
                    Out2<double> first, Out2<double> second, Out3<double> cross, Out2<double> projections,
                    Out3<double> outer, int n_threads) {
    const DenseRows<T> x = rows.view();
    const auto components =
        factor_components_view<T>(means, scales, directions, std::nullopt, std::nullopt, x.n_columns);
    const Index n = components.n_components, m = static_cast<Index>(candidates.shape(1)), h = components.n_factors;
    require_size(candidates, x.n_rows * m, "candidates has the wrong shape");
    require_size(shares, x.n_rows * m, "shares has the wrong shape");
    require_between(candidates, 0, n, "a candidate is out of range");
    if (weights) require_size(*weights, x.n_rows, "one weight per row is needed");
    require_size(masses, n, "one mass per component is needed");
    require_size(first, n * x.n_columns, "first and means differ in shape");
    require_size(second, n * x.n_columns, "second and means differ in shape");
    require_size(cross, n * h * x.n_columns, "cross has the wrong shape");
    require_size(projections, n * h, "projections has the wrong shape");
    require_size(outer, n * h * h, "outer has the wrong shape");
    const FactorMoments out{masses.data(), first.data(), second.data(), cross.data(), projections.data(), outer.data()};
    kernels().of<T>().factor_moments(x, candidates.data(), shares.data(), data_or_null(weights), m, components, out,
                                     n_threads);
}

template <class T>
void truncated_posteriors(In2<T> energies, T negligible, Out2<T> shares, Out1<double> log_densities,
                          int n_threads) {
    const Index n = static_cast<Index>(energies.shape(0)), m = static_cast<Index>(energies.shape(1));
    require(m >= 1, "no candidates");
    require_size(shares, n * m, "shares and energies differ in shape");
    require_size(log_densities, n, "one log-density per row is needed");
    kernels().of<T>().truncated_posteriors(energies.data(), n, m, negligible, shares.data(), log_densities.data(),
                                           n_threads);
}

template <class T>
void mixture_moments(const DenseBlock<T>& rows, In2<std::int32_t> candidates, In2<T> shares, In2<T> energies,
                     std::optional<In1<T>> weights, In2<T> means, Out1<double> masses, Out1<double> energy_sums,
                     Out2<double> first, std::optional<Out2<double>> second, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n = static_cast<Index>(means.shape(0)), m = static_cast<Index>(candidates.shape(1));
    require(static_cast<Index>(means.shape(1)) == x.n_columns, "means and rows differ in width");
    require_size(candidates, x.n_rows * m, "candidates has the wrong shape");
    require_size(shares, x.n_rows * m, "shares has the wrong shape");
    require_size(energies, x.n_rows * m, "energies has the wrong shape");
    require_between(candidates, 0, n, "a candidate is out of range");
    if (weights) require_size(*weights, x.n_rows, "one weight per row is needed");
    require_size(masses, n, "one mass per component is needed");
    require_size(energy_sums, n, "one sum of energies per component is needed");
    require_size(first, n * x.n_columns, "first and means differ in shape");
    if (second) require_size(*second, n * x.n_columns, "second and means differ in shape");
    const Shares<T> given{candidates.data(), shares.data(), energies.data(), data_or_null(weights), m};
    kernels().of<T>().mixture_moments(x, given, means.data(), n, masses.data(), energy_sums.data(), first.data(),
                                      second ? second->data() : nullptr, n_threads);
}

template <class T>
void bind_mixture_of(nb::module_& m) {
    m.def("truncated_search", &truncated_search<T>, arg("rows"), arg("means"), arg("scales").none(), arg("precisions"),
          arg("offsets"), arg("candidates"), arg("energies"), arg("neighbors"), arg("extra").none(),
          arg("group_size"), arg("update_neighbors"), arg("regroup"), arg("n_threads"), Unlocked());
    m.def("truncated_posteriors", &truncated_posteriors<T>, arg("energies").noconvert(), arg("negligible"),
          arg("shares"), arg("log_densities"), arg("n_threads"), Unlocked());
    m.def("mixture_moments", &mixture_moments<T>, arg("rows"), arg("candidates"), arg("shares"), arg("energies"),
          arg("weights").none(), arg("means"), arg("masses"), arg("energy_sums"), arg("first"), arg("second").none(),
          arg("n_threads"), Unlocked());
    m.def("factor_search", &factor_search<T>, arg("rows"), arg("means"), arg("scales"), arg("directions"),
          arg("shrinkages"), arg("offsets"), arg("candidates"), arg("energies"), arg("neighbors"), arg("extra").none(),
          arg("group_size"), arg("update_neighbors"), arg("regroup"), arg("n_threads"), Unlocked());
    m.def("factor_energies", &factor_energies<T>, arg("rows"), arg("means"), arg("scales"), arg("directions"),
          arg("shrinkages"), arg("offsets"), arg("ids"), arg("energies"), arg("n_threads"), Unlocked());
    m.def("factor_energies_of_listed", &factor_energies_of_listed<T>, arg("rows"), arg("means"), arg("scales"),
          arg("directions"), arg("shrinkages"), arg("offsets"), arg("ids"), arg("energies"), arg("n_threads"),
          Unlocked());
    m.def("factor_moments", &factor_moments<T>, arg("rows"), arg("candidates"), arg("shares"), arg("weights").none(),
          arg("means"), arg("scales"), arg("directions"), arg("masses"), arg("first"), arg("second"), arg("cross"),
          arg("projections"), arg("outer"), arg("n_threads"), Unlocked());
}

}  // namespace

void bind_mixture(nb::module_& m) {
    bind_mixture_of<float>(m);
    bind_mixture_of<double>(m);
}

}  // namespace coterie
