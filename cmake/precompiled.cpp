// Of the precompiled headers: CMake makes them beside a source.
