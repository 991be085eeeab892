# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio. The build generates the blocking version of each module into the folder above
(generate_sync.py); only _driver.py is written twice."""
