// The kernels of size constraints: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

template <class T>
void least_of_lists_of(In2<std::int32_t> ids, In2<T> scores, In1<double> duals, Out1<std::int32_t> labels,
                    Out1<double> values, Out1<std::int32_t> seconds, Out1<double> margins, int n_threads) {
    const Index n = static_cast<Index>(ids.shape(0)), m = static_cast<Index>(ids.shape(1));
    require(m >= 1, "no centers are listed");
    require_size(scores, n * m, "scores has the wrong shape");
    require_between(ids, 0, static_cast<Index>(duals.shape(0)), "a listed center is out of range");
    require_size(labels, n, "one label per row is needed");
    require_size(values, n, "one value per row is needed");
    require_size(seconds, n, "one second label per row is needed");
    require_size(margins, n, "one margin per row is needed");
    kernels().of<T>().least_of_lists(ids.data(), scores.data(), n, m, duals.data(), labels.data(), values.data(),
                                  seconds.data(), margins.data(), n_threads);
}

template <class T>
void bind_lists(nb::module_& m) {
    m.def("least_of_lists", &least_of_lists_of<T>, arg("ids"), arg("scores").noconvert(), arg("duals"), arg("labels"),
          arg("values"), arg("seconds"), arg("margins"), arg("n_threads"), Unlocked());
}

}  // namespace

void bind_size_constrained(nb::module_& m) {
    bind_lists<float>(m);
    bind_lists<double>(m);
}

}  // namespace coterie
