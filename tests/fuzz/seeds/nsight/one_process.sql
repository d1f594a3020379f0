CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, streamId INT, correlationId INT, globalPid INT, demangledName INT)
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, streamId INT, correlationId INT, globalPid INT)
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, correlationId INT, globalTid INT, nameId INT)
CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, text TEXT, textId INT)
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)')
INSERT INTO StringIds VALUES (3, 'cudaLaunchKernel_v7000'), (4, 'cudaStreamSynchronize'), (5, 'ProfilerStep#1')
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 7, 1, 16777216, 1)
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 5000, 9, 2, 16777216, 2)
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 6000, 7, 3, 16777216, 1)
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, 1, 16777293, 3), (120, 130, 2, 16777293, 3)
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (140, 150, 3, 16777293, 3), (160, 7000, 4, 16777293, 4)
INSERT INTO NVTX_EVENTS VALUES (90, 6500, 16777293, NULL, 5)

%%%%
{"schema":"1.0.1","nodes":[
{"name":"c10d::allreduce_","id":1,"input_shapes":[[[250]]],"input_types":["GenericList[Tensor(float)]"]},
{"name":"end","id":2}
]}
