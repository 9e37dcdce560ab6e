-- TPC-C-like transactions for sysbench, a statement for each row and a round trip for each statement, as most drivers have them. They run
-- on the tables that `drover bench tpcc load` made, with the same inputs, decks and isolation as `drover bench tpcc run` has them, so that
-- benchmarks/tpcc can compare the two. Each thread prints what it did when it is done.

local bit = require("bit")

sysbench.cmdline.options = {
   warehouses = {"Number of warehouses", 4},
   c_last = {"NURand's constant of last names", 0},
   c_id = {"NURand's constant of customers", 0},
   c_item = {"NURand's constant of items", 0},
}

local SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
local UNUSED_ITEM = 100001
local NAMES = {"new_order", "payment", "order_status", "delivery", "stock_level"}
local CARDS = {10, 10, 1, 1, 1}

local counts = {0, 0, 0, 0, 0}
local retries = 0
local deck = {}
local pending = nil
local is_open = false
local con, home, home_district

-- Inputs

local function between(low, high)
   return sysbench.rand.uniform(low, high)
end

local function non_uniform(a, c, low, high)
   return (bit.bor(between(0, a), between(low, high)) + c) % (high - low + 1) + low
end

local function customer_number()
   return non_uniform(1023, sysbench.opt.c_id, 1, 3000)
end

local function last_name()
   local number = non_uniform(255, sysbench.opt.c_last, 0, 999)
   local digits = {math.floor(number / 100), math.floor(number / 10) % 10, number % 10}
   return SYLLABLES[digits[1] + 1] .. SYLLABLES[digits[2] + 1] .. SYLLABLES[digits[3] + 1]
end

local function other_warehouse()
   if sysbench.opt.warehouses == 1 then
      return home
   end
   local other = between(1, sysbench.opt.warehouses - 1)
   return other >= home and other + 1 or other
end

local function who()
   if between(1, 100) <= 60 then
      return {name = last_name()}
   end
   return {number = customer_number()}
end

local draw = {}

function draw.new_order()
   local order = {d = between(1, 10), c = customer_number(), lines = {}}
   local count = between(5, 15)
   local is_to_fail = between(1, 100) == 1
   for number = 1, count do
      local item = non_uniform(8191, sysbench.opt.c_item, 1, 100000)
      local supply = between(1, 100) == 1 and other_warehouse() or home
      order.lines[number] = {i = item, w = supply, quantity = between(1, 10)}
   end
   if is_to_fail then
      order.lines[count].i = UNUSED_ITEM
   end
   return order
end

function draw.payment()
   local payment = {d = between(1, 10), amount = between(100, 500000) / 100, who = who()}
   payment.c_w, payment.c_d = home, payment.d
   if between(1, 100) > 85 and sysbench.opt.warehouses > 1 then
      payment.c_w, payment.c_d = other_warehouse(), between(1, 10)
   end
   return payment
end

function draw.order_status()
   return {d = between(1, 10), who = who()}
end

function draw.delivery()
   return {carrier = between(1, 10)}
end

function draw.stock_level()
   return {threshold = between(10, 20)}
end

-- Transactions

local function row(...)
   return con:query_row(string.format(...))
end

local function execute(...)
   con:query(string.format(...))
end

-- The rows of a statement as tables of text.
local function rows(...)
   local result = con:query(string.format(...))
   local found = {}
   for number = 1, result.nrows do
      found[number] = result:fetch_row()
   end
   return found
end

local function begin()
   con:query("BEGIN")
   is_open = true
end

local function finish(statement)
   con:query(statement)
   is_open = false
end

local function find_customer(w, d, who)
   if who.number then
      return who.number
   end
   local found = rows("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first", w, d, who.name)
   return tonumber(found[math.ceil(#found / 2)][1])
end

local run = {}

function run.new_order(order)
   begin()
   row("SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
       home, order.d, order.c)
   local next_order = row("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE", home, order.d)
   execute("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %d AND d_id = %d", home, order.d)
   local all_local = 1
   for _, line in ipairs(order.lines) do
      if line.w ~= home then
         all_local = 0
      end
   end
   execute("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (%d, %d, %d, %d, NOW(), NULL, %d, %d)",
           next_order, order.d, home, order.c, #order.lines, all_local)
   execute("INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (%d, %d, %d)", next_order, order.d, home)
   for number, line in ipairs(order.lines) do
      local price = row("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", line.i)
      if price == nil then
         finish("ROLLBACK")
         return
      end
      local left, text = row("SELECT s_quantity, s_dist_%02d, s_data FROM stock WHERE s_w_id = %d AND s_i_id = %d FOR UPDATE", order.d, line.w, line.i)
      left = tonumber(left) - line.quantity
      if left < 10 then
         left = left + 91
      end
      execute("UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %d WHERE s_w_id = %d AND s_i_id = %d",
              left, line.quantity, line.w == home and 0 or 1, line.w, line.i)
      execute("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (%d, %d, %d, %d, %d, %d, NULL, %d, %.2f, '%s')",
              next_order, order.d, home, number, line.i, line.w, line.quantity, line.quantity * tonumber(price), text)
   end
   finish("COMMIT")
end

function run.payment(payment)
   begin()
   local w_name = row("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d", home)
   local d_name = row("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = %d AND d_id = %d", home, payment.d)
   local c = find_customer(payment.c_w, payment.c_d, payment.who)
   local found = rows("SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE",
                      payment.c_w, payment.c_d, c)
   if found[1][10] == "BC" then
      local note = string.format("%d %d %d %d %d %.2f|", c, payment.c_d, payment.c_w, payment.d, home, payment.amount)
      local data = row("SELECT c_data FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", payment.c_w, payment.c_d, c)
      execute("UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f, c_payment_cnt = c_payment_cnt + 1, c_data = '%s' WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
              payment.amount, payment.amount, string.sub(note .. data, 1, 500), payment.c_w, payment.c_d, c)
   else
      execute("UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
              payment.amount, payment.amount, payment.c_w, payment.c_d, c)
   end
   execute("INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (%d, %d, %d, %d, %d, NOW(), %.2f, '%s    %s')",
           c, payment.c_d, payment.c_w, payment.d, home, payment.amount, w_name, d_name)
   execute("UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d", payment.amount, home, payment.d)
   execute("UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", payment.amount, home)
   finish("COMMIT")
end

function run.order_status(status)
   con:query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
   begin()
   local c = find_customer(home, status.d, status.who)
   row("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", home, status.d, c)
   local order = row("SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d ORDER BY o_id DESC LIMIT 1", home, status.d, c)
   rows("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", home, status.d, order)
   finish("COMMIT")
end

function run.delivery(delivery)
   begin()
   for d = 1, 10 do
      local order = row("SELECT no_o_id FROM new_orders WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1 FOR UPDATE", home, d)
      if order then
         execute("DELETE FROM new_orders WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d", home, d, order)
         local c = row("SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", home, d, order)
         execute("UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", delivery.carrier, home, d, order)
         execute("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", home, d, order)
         local amount = row("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", home, d, order)
         execute("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
                 amount, home, d, c)
      end
   end
   finish("COMMIT")
end

function run.stock_level(level)
   begin()
   local next_order = tonumber((row("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d", home, home_district)))
   row("SELECT COUNT(DISTINCT s_i_id) FROM order_line STRAIGHT_JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id >= %d AND ol_o_id < %d AND s_quantity < %d",
       home, home_district, next_order - 20, next_order, level.threshold)
   finish("COMMIT")
end

-- What sysbench calls

function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
   home = sysbench.tid % sysbench.opt.warehouses + 1
   home_district = math.floor(sysbench.tid / sysbench.opt.warehouses) % 10 + 1
end

local function deal()
   if #deck == 0 then
      for kind, cards in ipairs(CARDS) do
         for _ = 1, cards do
            deck[#deck + 1] = kind
         end
      end
      for place = #deck, 2, -1 do
         local other = between(1, place)
         deck[place], deck[other] = deck[other], deck[place]
      end
   end
   return table.remove(deck)
end

function event()
   -- sysbench calls this again after a deadlock: the input is the same.
   if is_open then
      finish("ROLLBACK")
      retries = retries + 1
   end
   if pending == nil then
      local kind = deal()
      pending = {kind = kind, input = draw[NAMES[kind]]()}
   end
   run[NAMES[pending.kind]](pending.input)
   counts[pending.kind] = counts[pending.kind] + 1
   pending = nil
end

function thread_done()
   print(string.format("done %d %d %d %d %d retries %d", counts[1], counts[2], counts[3], counts[4], counts[5], retries))
   con:disconnect()
end
