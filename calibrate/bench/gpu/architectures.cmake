# gpu_architectures(OUT): the compute capability of this machine's GPU; where there is none, or none
# that nvcc knows, machine code for the oldest and the first of each generation that nvcc knows, and
# PTX of the newest for what comes after.
function(gpu_architectures out)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE listed
                  ERROR_QUIET RESULT_VARIABLE failed)
  string(REGEX MATCHALL "[0-9]+" known "${listed}")
  if(failed OR NOT known)
    set(${out} "52-virtual" PARENT_SCOPE)  # before CUDA 11: runs on all that came after
    return()
  endif()
  list(SORT known COMPARE NATURAL)
  list(GET known -1 newest)

  find_program(NVIDIA_SMI nvidia-smi)
  if(NVIDIA_SMI)
    execute_process(COMMAND ${NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE capabilities ERROR_QUIET)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
    set(found "")
    foreach(capability IN LISTS capabilities)
      string(REPLACE "." "" capability ${capability})
      if(capability IN_LIST known)
        list(APPEND found ${capability}-real)
      endif()
    endforeach()
    list(REMOVE_DUPLICATES found)
    if(found)
      set(${out} "${found}" PARENT_SCOPE)
      return()
    endif()
  endif()

  list(GET known 0 oldest)
  set(chosen ${oldest}-real)
  foreach(architecture IN LISTS known)
    if(architecture MATCHES "0$" AND NOT architecture STREQUAL oldest)
      list(APPEND chosen ${architecture}-real)
    endif()
  endforeach()
  list(APPEND chosen ${newest}-virtual)
  set(${out} "${chosen}" PARENT_SCOPE)
endfunction()
