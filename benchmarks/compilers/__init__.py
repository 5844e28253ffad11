"""The same work with the kernels of several compilers: CPU seconds, and whether the bits are the same.

Each build is a folder that holds the package, such as `pip install --target FOLDER .` with CC and CXX makes it::

    CXX=clang++ CC=clang pip install --target build/clang .
    python -m benchmarks.compilers gcc=build/gcc clang=build/clang

Fresh processes, interleaved, one thread each: seconds of the processor are nearly the same beside other processes.
"""
