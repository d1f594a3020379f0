# What is installed, where, and the Debian package:
#   cmake --build build/release --target package_parts   # the programs and their manual pages
#   cmake --install build/release --prefix DIRECTORY
#   cmake --build build/release --target deb             # build/release/forescale_*.deb
# Data lie in share/forescale as they do in the sources, where programs look for them (base/data_files.hpp).
include(GNUInstallDirs)

foreach(program IN LISTS product_programs)
  set_target_properties(${program} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  if(program STREQUAL forescale-gpu)
    # NVIDIA's libraries are where they were found, and in no package of Debian's.
    set_target_properties(${program} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${program} RUNTIME COMPONENT gpu)
  else()
    install(TARGETS ${program} RUNTIME COMPONENT program)
  endif()
endforeach()

install(TARGETS forescale-simgrid LIBRARY DESTINATION lib/forescale COMPONENT program)

set(data_folder ${CMAKE_INSTALL_DATADIR}/forescale)
file(GLOB_RECURSE data_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     ${CMAKE_SOURCE_DIR}/algorithms/*.json ${CMAKE_SOURCE_DIR}/calibrate/published*/*.json
     ${CMAKE_SOURCE_DIR}/calibrate/measured_gpus/*.json
     ${CMAKE_SOURCE_DIR}/models/*.json ${CMAKE_SOURCE_DIR}/studies/*.json
     ${CMAKE_SOURCE_DIR}/topologies/*.json ${CMAKE_SOURCE_DIR}/cli/report/page/*)
list(APPEND data_files studies/settings/mpich-COPYRIGHT)
foreach(file IN LISTS data_files)
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/${file} DESTINATION ${data_folder}/${folder} COMPONENT program)
endforeach()
# Recorders that people start on machines of theirs.
install(PROGRAMS ${CMAKE_SOURCE_DIR}/traces/trace_gloo.py DESTINATION ${data_folder}/traces
        COMPONENT program)
install(PROGRAMS ${CMAKE_SOURCE_DIR}/calibrate/bench/gpu/train_step.py
                 ${CMAKE_SOURCE_DIR}/calibrate/bench/gpu/torch_kernels.py
        DESTINATION ${data_folder}/calibrate/bench/gpu COMPONENT program)
install(FILES ${CMAKE_SOURCE_DIR}/calibrate/bench/gpu/llama.py
        DESTINATION ${data_folder}/calibrate/bench/gpu COMPONENT program)

set(completion ${CMAKE_SOURCE_DIR}/cli/completion/completion)
install(FILES ${completion}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME forescale COMPONENT program)
install(FILES ${completion}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
        RENAME _forescale COMPONENT program)
install(FILES ${completion}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        RENAME forescale.fish COMPONENT program)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/forescale DESTINATION lib/python3/dist-packages
        COMPONENT program FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN __pycache__ EXCLUDE)

file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
file(GLOB tutorials CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/tutorials/*.md)
install(FILES ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT program)
install(FILES ${tutorials} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/tutorials COMPONENT program)
foreach(component IN ITEMS program gpu)
  set(package forescale)
  if(component STREQUAL gpu)
    set(package forescale-gpu)
  endif()
  install(FILES ${CMAKE_SOURCE_DIR}/cmake/package/copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()

# A page of the manual for the program and each command, out of --help.
set(package_parts ${product_programs})
find_program(HELP2MAN help2man)
if(HELP2MAN)
  set(man_pages ${CMAKE_BINARY_DIR}/man1)
  add_custom_command(OUTPUT ${man_pages}/forescale.1.gz
                     COMMAND python3 ${CMAKE_SOURCE_DIR}/cmake/package/man_pages.py
                             $<TARGET_FILE:forescale> ${HELP2MAN} ${man_pages}
                     DEPENDS forescale ${CMAKE_SOURCE_DIR}/cmake/package/man_pages.py
                     COMMENT "Writing the manual's pages")
  add_custom_target(man_pages ALL DEPENDS ${man_pages}/forescale.1.gz)
  list(APPEND package_parts man_pages)
  install(DIRECTORY ${man_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
else()
  message(STATUS "No help2man: no pages of the manual")
endif()
add_custom_target(package_parts DEPENDS ${package_parts} library)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME forescale)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "forescale maintainers <maintainers@users.noreply.forescale.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program)
if(TARGET forescale-gpu)
  list(APPEND CPACK_COMPONENTS_ALL gpu)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME forescale)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# mpirun and `ip`, which commands that measure start; and what the recorders are written in.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "openmpi-bin, iproute2, python3-pandas")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "mpich, python3")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "predicts how distributed DNN training scales
Platform, communication stack, network and schedule go in; a scaling table
comes out, with where the time goes, what bounds it and how sure that is.
Collectives and schedules are simulated on SimGrid.")
set(CPACK_DEBIAN_GPU_PACKAGE_NAME forescale-gpu)
set(CPACK_DEBIAN_GPU_PACKAGE_DEPENDS "forescale (= ${PROJECT_VERSION}), libc6, libstdc++6, libfmt9, libsqlite3-0")
set(CPACK_COMPONENT_GPU_DESCRIPTION "measures a GPU for forescale
Needs the libraries of CUDA that it was built with, in the same folders.")
include(CPack)

add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake
                              -B ${CMAKE_BINARY_DIR}
                  DEPENDS package_parts WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL
                  COMMENT "Making the Debian package")
