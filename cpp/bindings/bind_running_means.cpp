// Annealed mini-batches: a loop over batches, each assigned and then taken into running means.
#include <algorithm>
#include <numeric>
#include <vector>

#include "blocks.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

// Running means in arrays of Python, which it keeps alive.
template <class T>
struct RunningMeansArrays {
    Out2<T> centers, relative;
    Out1<T> offsets;
    Out1<double> squares;
    In1<double> shift;
    Out2<double> means;
    Out1<double> counts;
    bool unit_length;

    RunningMeans<T> view() const {
        return {static_cast<Index>(centers.shape(0)), static_cast<Index>(centers.shape(1)), shift.data(), unit_length,
                means.data(), counts.data(), centers.data(), relative.data(), squares.data(), offsets.data()};
    }
};

template <class T>
RunningMeansArrays<T> running_means(Out2<T> centers, Out2<T> relative, Out1<T> offsets, Out1<double> squares,
                                    In1<double> shift, Out2<double> means, Out1<double> counts, bool unit_length) {
    const Index k = static_cast<Index>(centers.shape(0)), d = static_cast<Index>(centers.shape(1));
    require_size(relative, k * d, "centers and relative centers differ in shape");
    require_size(means, k * d, "centers and means differ in shape");
    require_size(offsets, k, "one offset per center is needed");
    require_size(squares, k, "one square per center is needed");
    require_size(counts, k, "one count per center is needed");
    require_size(shift, d, "one shift per column is needed");
    return {centers, relative, offsets, squares, shift, means, counts, unit_length};
}

// Panels of centers are in the order of their lengths at the beginning: labels do not depend on it.
template <class T>
void take_batches(const DenseBlock<T>& rows, std::optional<In1<T>> weights, In1<Index> ends, In1<double> memories,
                  Out1<double> inertias, const RunningMeansArrays<T>& arrays, std::optional<Out2<double>> sums,
                  std::optional<Out1<double>> masses, int n_threads) {
    const RunningMeans<T> means = arrays.view();
    const Index k = means.n_centers, n_batches = static_cast<Index>(ends.size());
    const DenseRows<T> x = rows.view();
    require(x.n_columns == means.n_columns, "centers and rows differ in width");
    if (weights) require_size(*weights, x.n_rows, "one weight per row is needed");
    require_size(memories, n_batches, "one memory per batch is needed");
    require_size(inertias, n_batches, "one inertia per batch is needed");
    require(n_batches > 0 && ends.data()[n_batches - 1] == x.n_rows, "batches do not end with the rows");
    require(ends.data()[0] >= 0 && std::is_sorted(ends.data(), ends.data() + n_batches), "ends of batches decrease");
    require(sums.has_value() == masses.has_value(), "sums and masses belong together");
    if (sums) require_size(*sums, k * means.n_columns, "sums has the wrong shape");
    if (masses) require_size(*masses, k, "one mass per center is needed");
    std::vector<std::int32_t> order(k);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return means.squares[a] < means.squares[b]; });
    kernels().searches<T>().take_batches(
        means, {x, data_or_null(weights), n_batches, ends.data(), memories.data(), order.data(), inertias.data(),
                sums ? sums->data() : nullptr, masses ? masses->data() : nullptr},
        n_threads);
}

template <class T>
void take_sums(In2<double> sums, In1<double> masses, double memory, const RunningMeansArrays<T>& arrays,
               int n_threads) {
    const RunningMeans<T> means = arrays.view();
    require_size(sums, means.n_centers * means.n_columns, "sums has the wrong shape");
    require_size(masses, means.n_centers, "one mass per center is needed");
    kernels().of<T>().move_means_by_sums(means, sums.data(), masses.data(), memory, n_threads);
}

template <class T>
void bind_running_means_of(nb::module_& m, const char* name) {
    nb::class_<RunningMeansArrays<T>>(m, name);
    m.def("running_means", &running_means<T>, arg("centers"), arg("relative"), arg("offsets"), arg("squares"),
          arg("shift").noconvert(), arg("means"), arg("counts"), arg("unit_length"));
    m.def("take_batches", &take_batches<T>, arg("rows"), arg("weights").none(), arg("ends").noconvert(),
          arg("memories").noconvert(), arg("inertias"), arg("means"), arg("sums").none(), arg("masses").none(), arg("n_threads"),
          Unlocked());
    m.def("take_sums", &take_sums<T>, arg("sums"), arg("masses"), arg("memory"), arg("means"), arg("n_threads"),
          Unlocked());
}

}  // namespace

void bind_running_means(nb::module_& m) {
    bind_running_means_of<float>(m, "RunningMeansFloat32");
    bind_running_means_of<double>(m, "RunningMeansFloat64");
}

}  // namespace coterie
