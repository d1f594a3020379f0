# libforescale: the parts up to studies/ in one library, and what find_package(forescale) reads.
include(CMakePackageConfigHelpers)

add_library(library SHARED ${CMAKE_SOURCE_DIR}/library/forescale.cpp)
add_library(forescale::forescale ALIAS library)
add_dependencies(library forescale-simgrid)
target_link_libraries(library PRIVATE ${up_to_studies})
target_link_options(library PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/library/exported.map)
set_target_properties(library PROPERTIES
  OUTPUT_NAME forescale EXPORT_NAME forescale VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/library/exported.map
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_compile_features(library INTERFACE cxx_std_17)
target_include_directories(library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS library EXPORT forescale LIBRARY DESTINATION lib COMPONENT program
        NAMELINK_COMPONENT program)
install(FILES ${CMAKE_SOURCE_DIR}/library/forescale.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/forescale COMPONENT program)
install(EXPORT forescale NAMESPACE forescale:: FILE forescale-config.cmake DESTINATION lib/cmake/forescale
        COMPONENT program)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/forescale-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/forescale-config-version.cmake DESTINATION lib/cmake/forescale
        COMPONENT program)

# A tuner plug-in that NCCL loads, of no other part: users start it on machines without forescale, or compile it
# there (docs/settings.md).
set(nccl_tuner ${CMAKE_SOURCE_DIR}/library/nccl_tuner)
add_library(nccl-tuner-forescale MODULE ${nccl_tuner}/nccl_tuner.cpp)
target_link_options(nccl-tuner-forescale PRIVATE -static-libstdc++ -static-libgcc
                    -Wl,--version-script=${nccl_tuner}/exported.map)
set_target_properties(nccl-tuner-forescale PROPERTIES
  LINK_DEPENDS ${nccl_tuner}/exported.map LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/forescale)
add_dependencies(product nccl-tuner-forescale)
add_dependencies(package_parts nccl-tuner-forescale)
install(TARGETS nccl-tuner-forescale LIBRARY DESTINATION lib/forescale COMPONENT program)
install(FILES ${nccl_tuner}/nccl_tuner.cpp ${nccl_tuner}/tuner_api.hpp
        DESTINATION ${data_folder}/library/nccl_tuner COMPONENT program)
